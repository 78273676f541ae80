// The safetensors files of a checkpoint. Their form: 8 bytes length of the header (little-endian), the header (JSON),
// data. Source: https://github.com/huggingface/safetensors, README "Format", and the checks of its own reader (no
// holes, no overlaps, no rest).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "base/result.h"
#include "base/tensor.h"

namespace ridge::checkpoint {

// By name. The data may begin at any address: it is aligned only if the file says so.
using Tensors = std::map<std::string, TensorView, std::less<>>;

// The tensors of a file. kInvalid: not safetensors, or parts that do not fit; kUnsupported: an unknown type.
Result<Tensors> read_safetensors(std::span<const std::byte> file);

}  // namespace ridge::checkpoint
