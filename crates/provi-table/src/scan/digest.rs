//! The digest that identifies the files of an answer.

use std::io::Read;

use sha2::{Digest, Sha256};

use crate::{
    error::{BadFile, Error, Result},
    shards::Shard,
};

/// The SHA-256 of a file's bytes, in hexadecimal. Cost: one reading of the whole file, whatever columns are used.
pub(crate) fn of_file(shard: &Shard) -> Result<String> {
    let mut file = shard.reopen()?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(&digest.finalize())),
            Ok(read) => digest.update(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Error::File(BadFile::Unreadable {
                    table: shard.name().to_owned(),
                    reason: error.to_string(),
                }));
            }
        }
    }
}

/// The digest of several files: for one file its own; for several, `shards:` and the digest of theirs, in order,
/// whatever the files are called.
pub(crate) fn of_all(digests: &[String]) -> String {
    match digests {
        [one] => one.clone(),
        _ => format!("shards:{}", hexadecimal(&Sha256::digest(digests.join("\n")))),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
