//! Readable JSON: one key per line, each list on one line.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// One key per line; numbers that are not finite are written as null.
pub fn to_json(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Writing to memory cannot fail, nor can a struct with string keys.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, KeyALine::default()));
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes the same text directly into a file or a pipe, in little memory.
pub fn write_json(to: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *to, KeyALine::default()))?;
    to.write_all(b"\n")
}

/// Formatter: objects are indented, lists and their contents are on one line.
#[derive(Default)]
struct KeyALine {
    pretty: PrettyFormatter<'static>,
    lists: usize,
}

impl Formatter for KeyALine {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.lists += 1;
        CompactFormatter.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.lists -= 1;
        CompactFormatter.end_array(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.lists > 0 { CompactFormatter.begin_object(writer) } else { self.pretty.begin_object(writer) }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.lists > 0 { CompactFormatter.end_object(writer) } else { self.pretty.end_object(writer) }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if self.lists > 0 {
            CompactFormatter.begin_object_key(writer, first)
        } else {
            self.pretty.begin_object_key(writer, first)
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.lists > 0 { Ok(()) } else { self.pretty.end_object_value(writer) }
    }
}
