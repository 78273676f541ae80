// Reads what verbs need to know of a language model's checkpoint before it is opened: its dimensions and the engine.
#pragma once

#include <string>

#include "base/result.h"
#include "llm/model.h"
#include "machine/machine.h"

namespace ridge::app {

// Reads a folder or a GGUF file. The error for anything that is not a decoder says how to export one.
Result<llm::Model> read_decoder_model(const std::string& folder);
// The engine that was named, else the first that has a decoder.
Result<std::string> decoder_engine(const std::string& named);
// The checkpoint of a model given by its config.json, or by itself.
std::string checkpoint_folder(const std::string& model);
// Digest of config.json, or of the metadata of a GGUF file. `model`: a folder, a config file, or a GGUF file.
std::string config_digest(const std::string& model);
double free_bytes(const machine::Memory& memory);  // [bytes]

}  // namespace ridge::app
