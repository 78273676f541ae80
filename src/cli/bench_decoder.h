// ridge bench FOLDER, or FILE.gguf: a language model, step by step. bench.cc measures models, bench_server.cc servers.
#pragma once

#include <span>
#include <string>

namespace ridge::cli {

// True if `arguments` after "bench" name a folder with a config.json, a GGUF file, or such a reference model.
bool names_checkpoint(std::span<const std::string> arguments);
// Returns an Exit.
int bench_decoder(std::span<const std::string> arguments);

}  // namespace ridge::cli
