// Options of `ridge tune`, and what they mean.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/accuracy_options.h"
#include "model/reader.h"
#include "report/frame.h"
#include "tune/regression.h"
#include "tune/space.h"

namespace CLI {
class App;
}

namespace ridge::cli {

constexpr const char* kAnyEngine = "auto";  // --engine: ONNX Runtime as the baseline, and every other one that loads

struct TuneOptions {
  std::string model;
  std::string repository;
  std::string name;
  std::vector<std::string> shapes;
  std::string objective = "throughput";
  std::optional<double> p99_ms;
  double seconds = 60;
  int trials = 0;
  int64_t max_batch = 32;
  std::optional<int> threads;
  std::string engine = kAnyEngine;
  std::string precision = "auto";
  AccuracyOptions accuracy;
  double guard_seconds = 120;
  std::string engine_library;
  std::vector<std::string> engine_options;
  std::string store;
  std::string search = "quick";
  std::string compare;
  tune::Strictness strictness;  // of --compare
  std::string html;
  std::string language = "en";
  bool overwrite = false;
  bool fresh = false;
  bool json = false;
};

void declare(CLI::App& app, TuneOptions& options);

// What the options mean; an error here is wrong usage.
struct TuneRequest {
  TuneOptions options;
  model::Binding binding;
  tune::Goal goal;
  std::map<std::string, std::string> engine_options;
  std::string engine;                                // the baseline's
  std::optional<std::vector<std::string>> variants;  // of --precision; absent: those that can pay
  tune::SampleOptions samples;
  tune::GuardLimits guard;
  std::optional<tune::EvaluationOptions> evaluation;
  report::Language language = report::Language::kEnglish;
  std::optional<tune::Recorded> recorded;  // of --compare
};

Result<TuneRequest> request_of(const TuneOptions& options);

// Whether --shape gives an input several rows.
bool gives_rows(const model::Binding& binding);

}  // namespace ridge::cli
