// `ridge tune FOLDER` without options and text: finds the way of serving a language model that gives most under a load,
// and writes a repository with it. Prints nothing; tune_language() is the main path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/about.h"
#include "app/run_control.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "llm/simulate.h"
#include "tune/language/tuning.h"

namespace ridge::app {

struct LanguageTuneRequest {
  Command command;
  std::string folder;
  std::string name, repository;  // repository empty: nothing is written
  bool overwrite = false;
  std::string engine,
      library;  // engine empty: the first that has a decoder is the baseline's, and all that have one are tried
  std::vector<engine::WeightFormat> weights;  // empty: bf16, int8, int4 and fp32, or a graph's own
  std::vector<engine::CacheForm> caches = {engine::CacheForm::kU8, engine::CacheForm::kBf16, engine::CacheForm::kFp32};
  int threads = 0;  // most; 0: all that this process may use
  engine::WeightFormat reference = engine::WeightFormat::
      kFp32;                    // its cache: fp32, or with bf16 that; of a folder with a graph, the graph's own form
  std::string text, text_name;  // of the guard and the prompts, and what the result calls it
  int64_t text_tokens = 512;    // that the guard reads
  tune::language::Bounds bounds;
  llm::cpu::Goals goals;
  llm::Workload load;  // lengths, and concurrency or trace
  std::string trace;   // name of its file
  double seconds = 120;
  bool fresh = false;  // of the machine's limits
};

struct LanguageTuneResult {
  tune::language::LanguageTuning tuning;
  Status saved = {};  // error: the repository was not written
};

// read → judge the forms → predict and select → measure beside the defaults → confirm → write. kInvalid: wrong in
// itself. Interrupted: what was measured; kCancelled before anything was.
Result<LanguageTuneResult> tune_language(const LanguageTuneRequest& request, const RunControl& control);

}  // namespace ridge::app
