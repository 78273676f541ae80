// GGUF, the file form of llama.cpp's models: metadata and tensors in one file, mapped and checked.
// Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; versions 2 and 3, little-endian.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/stored_type.h"

namespace ridge::checkpoint {

struct Gguf {
  Json metadata;         // an object: numbers, booleans, texts, and arrays of these, by key. Texts may be no UTF-8
  NamedWeights tensors;  // by the file's names; shapes of one or two dimensions, outermost first
};

// A file's contents. kInvalid: not a GGUF file, or its parts do not fit each other; kUnsupported: another version or
// byte order, a type of tensors whose size is not known, more than two dimensions, arrays of arrays.
Result<Gguf> read_gguf(std::span<const std::byte> file);

}  // namespace ridge::checkpoint
