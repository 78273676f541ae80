// A GGUF file's metadata in the words of config.json, and its tensors' names in Hugging Face's. Sources: llama.cpp
// (MIT), gguf-py/gguf/constants.py (keys, names of tensors), convert_hf_to_gguf.py (what it changes).
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/decoder_config.h"
#include "checkpoint/gguf.h"
#include "checkpoint/stored_type.h"

namespace ridge::checkpoint {

// As decoder_config_of() reads it. Architectures: those of architectures.h that GGUF names (Mistral's is llama).
// kUnsupported: others, a part of a split model, tensors and numbers that no decoder here has, by name. Ends of answers
// are those that the metadata names, and special tokens that end one by their text.
Result<Json> gguf_config(const Gguf& file);

// All tensors of the decoder by their names in safetensors files. `config`: by gguf_config() of the same file.
Result<NamedWeights> gguf_weights(const Gguf& file, const DecoderConfig& config);

// A key of the metadata as that type, or an error that names it.
template <typename T>
Result<T> gguf_value(const Gguf& file, const std::string& key) {
  return json_member<T>(file.metadata, key.c_str());
}

}  // namespace ridge::checkpoint
