//! Files on disk: read whole, and written under another name first.

use super::check;
use super::document::Document;
use crate::error::{Error, Result};
use crate::simd::memory;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many files this process has begun to write: no two have the same temporary name.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Reads a model file.
///
/// # Errors
/// If it cannot be read, is damaged, of a later format, or not as the schema says.
pub(crate) fn read(path: &Path) -> Result<Document> {
    let bytes = bytes(path)?.map_err(|source| file_error(path, source))?;
    parse(&bytes).map_err(|error| naming(path, error))
}

/// Reads a model file from memory, and checks it.
///
/// # Errors
/// If it is damaged, of a later format, or not as the schema says.
pub(super) fn parse(bytes: &[u8]) -> Result<Document> {
    let document = Document::from_bytes(bytes)?;
    check::document(&document)?;
    Ok(document)
}

/// Checks a model and writes its file, or leaves what was there.
///
/// # Errors
/// If it is not as the schema says, or cannot be written.
pub(crate) fn write(path: &Path, document: &Document) -> Result<()> {
    check::document(document)?;
    let mut whole = None;
    let outcome = replace(path, |file| {
        let mut out = BufWriter::new(file);
        match document.write(&mut out) {
            Ok(written) => written?,
            Err(error) => {
                whole = Some(error);
                return Err(io::Error::other("nothing was written"));
            }
        }
        out.flush()
    });
    match (whole, outcome) {
        (Some(error), _) => Err(naming(path, error)),
        (None, outcome) => outcome.map_err(|source| file_error(path, source)),
    }
}

fn bytes(path: &Path) -> Result<io::Result<Vec<u8>>> {
    let open = || -> io::Result<(File, u64)> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok((file, length))
    };
    let (mut file, length) = match open() {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let mut bytes = memory::with_capacity(length, "a model file")?;
    // No more than was asked memory for: the file may grow meanwhile, and a pipe has no end.
    let read = Read::by_ref(&mut file)
        .take(length as u64)
        .read_to_end(&mut bytes);
    Ok(read.map(|_| bytes))
}

/// Writes a file under another name, then gives it its own: there is the old file or the new one,
/// never a part of it.
fn replace(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let temporary = beside(path)?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).open(&temporary)?;
    let written = write(&file)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The error that matters is the first.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Returns a name in the same folder that nobody else has.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "it names no file");
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or_else(invalid)?);
    let number = BEGUN.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}.{number}.tmp", std::process::id()));
    Ok(path.with_file_name(name))
}

fn file_error(path: &Path, source: io::Error) -> Error {
    let path = path.display().to_string();
    Error::File { path, source }
}

fn naming(path: &Path, error: Error) -> Error {
    match error {
        Error::Format { what } => Error::Format {
            what: format!("{}: {what}", path.display()),
        },
        other => other,
    }
}
