use super::*;

fn replaced(path: &Path, text: &str, keep: bool) -> Result<Option<PathBuf>, String> {
    Original::read(path).unwrap().replace(text, keep)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_made_with_its_folders_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/config.json");
    assert_eq!(replaced(&path, "new", true), Ok(None));
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(names(&folder.path().join("a/b")), ["config.json"]);
}

#[test]
fn the_former_text_is_kept_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    fs::write(&path, "old").unwrap();
    let kept = folder.path().join("config.json.bak");
    assert_eq!(replaced(&path, "new", true), Ok(Some(kept.clone())));
    assert_eq!(fs::read_to_string(kept).unwrap(), "old");
    assert_eq!(replaced(&path, "newer", false), Ok(None));
    assert_eq!(names(folder.path()), ["config.json", "config.json.bak"]);
}

#[cfg(unix)]
#[test]
fn permissions_and_symbolic_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("real.json");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(folder.path().join("links")).unwrap();
    let link = folder.path().join("links/config.json");
    symlink("../real.json", &link).unwrap();
    replaced(&link, "new", true).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    for name in ["real.json", "real.json.bak"] {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let dangling = folder.path().join("links/later.json");
    symlink(folder.path().join("later.json"), &dangling).unwrap();
    replaced(&dangling, "made", false).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("later.json")).unwrap(), "made");
    let circle = folder.path().join("circle");
    symlink(&circle, &circle).unwrap();
    assert_eq!(Original::read(&circle).unwrap_err(), "its symbolic links lead in a circle");
}

#[test]
fn what_must_not_be_written_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Original::read(folder.path()).unwrap_err(), "it is a folder");
    let path = folder.path().join("config.json");
    fs::write(&path, b"\xff").unwrap();
    assert_eq!(Original::read(&path).unwrap_err(), "it is not UTF-8 (at byte 0)");
    fs::write(&path, "old").unwrap();
    let read = Original::read(&path).unwrap();
    fs::write(&path, "other").unwrap();
    let why = read.replace("new", false).unwrap_err();
    assert_eq!(why, "it was changed by another program meanwhile: run this again");
    assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert_eq!(replaced(&path, "new", false).unwrap_err(), "it is read-only");
    assert_eq!(names(folder.path()), ["config.json"]);
}
