//! YAML → `Workflow`. The surface that `server`, `driver` and `cli` use; see `Catalog`.
