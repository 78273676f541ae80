// Options of `ridge tune`, and their meaning.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/about.h"
#include "app/tune_request.h"
#include "base/result.h"
#include "cli/accuracy_options.h"
#include "cli/page_options.h"
#include "tune/regression.h"

namespace CLI {
class App;
}

namespace ridge::cli {

constexpr const char* kAnyEngine = "auto";  // --engine: ONNX Runtime as the baseline, and every other one that loads

struct TuneOptions {
  app::Command command;
  std::vector<std::string> models;
  std::string model;  // the first as typed, while `models` has the file of a URL or of a reference model
  std::string repository;
  std::string name;
  std::vector<std::string> shapes;
  std::string objective;            // empty: by the other goals
  std::vector<std::string> p99_ms;  // "20", or with --share "NAME=20"
  std::vector<std::string> loads;   // --rps, likewise
  std::string memory;               // budget of --share; empty: what is available
  double seconds = 60;
  int trials = 0;
  int64_t max_batch = 32;
  std::optional<int> threads;
  std::string engine = kAnyEngine;
  std::string device = "cpu";
  std::string precision = "auto";
  AccuracyOptions accuracy;
  std::optional<double> guard_seconds;  // absent: as long as `seconds`
  std::string engine_library;
  std::vector<std::string> engine_options;
  std::string store;
  std::string search = "quick";
  std::string compare;
  tune::Strictness strictness;  // of --compare
  PageOptions page;
  bool share = false;
  bool overwrite = false;
  bool fresh = false;
  bool json = false, csv = false;
  // Words for the lines at the end, as given: the models; options to tune them again; options that bench has too.
  std::string typed_models, again, for_bench;
};

void declare(CLI::App& app, TuneOptions& options);

// The parsed options; an error here is wrong usage.
Result<app::TuneRequest> request_of(const TuneOptions& options);

// The values of an option that takes VALUE for every model or NAME=VALUE for one, by name; each is above 0. `names` are
// the models'.
Result<std::map<std::string, double>> values_per_model(const std::string& option, const std::vector<std::string>& given,
                                                       const std::vector<std::string>& names);

// The request for several models at once (--share). An error is wrong usage: options that do not apply to several
// models, two models of one name.
Result<app::ShareRequest> share_request_of(const TuneOptions& options);

}  // namespace ridge::cli
