// Writes random weights as safetensors in BF16 (https://github.com/huggingface/safetensors, "Format": 8 bytes with the
// size of a JSON header, the header, the tensors one after the other).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "zoo/blueprint.h"

namespace ridge::zoo {

// The file's bytes depend on the weights and the seed alone. Several threads generate and write pieces; memory stays
// below 100 MB. Creates `path`.
Status write_safetensors(std::span<const Weight> weights, uint64_t seed, const std::string& path);

}  // namespace ridge::zoo
