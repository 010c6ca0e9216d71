// Vision and audio towers, reported apart from the text decoder.
#pragma once

#include "io/families/config.hpp"
#include "tokenroof/describe/model.hpp"

namespace tokenroof::io {

/// Appends what the wrapper `root` holds beside the text decoder of `text_hidden`: counted where
/// the kind of tower is known, else named with 0 parameters and a note.
void attach_towers(const Json& root, std::int64_t text_hidden, Model& model);

}  // namespace tokenroof::io
