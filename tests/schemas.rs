//! The JSON Schemas that editors use: as committed they are what the types say, they know the keys that the loader
//! knows, place by place, and they say of a file what the loader says.
//!
//! `UPDATE_SCHEMAS=1 cargo test --test schemas` writes the committed files anew.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::Path;

use punctual::definition::editor::Document;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_committed_schemas_are_what_the_types_say() {
    for document in Document::ALL {
        let path = root().join("schemas").join(document.file_name());
        let generated = document.generate();
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, &generated).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap();
        assert_eq!(committed, generated, "write it anew: UPDATE_SCHEMAS=1 cargo test --test schemas");
    }
}
