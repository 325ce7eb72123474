//! Laws over random texts and values.
