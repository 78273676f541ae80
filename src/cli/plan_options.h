// The options of `ridge plan`, and of `ridge size`, which has more: as typed, and parsed into an app::PlanRequest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/about.h"
#include "app/plan_request.h"
#include "base/result.h"
#include "cli/page_options.h"

namespace CLI {
class App;
}

namespace ridge::cli {

inline constexpr const char* kSizeVerb = "size";

struct PlanOptions {
  app::Command command;      // of one of the two verbs
  app::PlanRequest request;  // options that need no further parsing
  std::string model;         // as typed, while the request has the file of a URL or of a reference model
  std::string batch;         // empty: 1; for a language model: what fits
  std::vector<std::string> shapes;
  std::string precision;  // empty: fp32; for a language model fp16
  std::string device;     // a name of the catalogue; empty: this machine
  int layers = 20;
  bool json = false;
  bool csv = false;
  std::string output;    // file of the document; empty: none
  std::string manifest;  // file for Kubernetes; empty: none
  PageOptions page;
  std::optional<double> rows_per_s, p99_ms, most_busy_percent;
  std::optional<int> instances_per_machine;
  bool cost = false;
  app::CostRequest costs;
  bool memory = false;
  std::string memory_limit;                   // "2GiB"; empty: the device's memory
  std::string optimiser, training_precision;  // empty: no training; as --precision
  std::string link = "pcie4";
  app::TrainingRequest training;
  // Words for the lines at the end, as given: for bench, for tune, and all of it.
  std::string for_bench, for_tune, again;
};

void declare_plan(CLI::App& app, PlanOptions& options);
// Those of `ridge plan` too.
void declare_size(CLI::App& app, PlanOptions& options);

// True if the options describe a language model: dimensions, a .json file, or an option specific to it.
bool is_llm(const PlanOptions& options);

// An error is wrong usage, except kUnavailable: a device missing from this machine.
Result<app::PlanRequest> request_of(const PlanOptions& options);
// Of `ridge size`: load, cost and training. Error: the options go not together, or a tensor model has no question.
Status add_questions(const PlanOptions& options, app::PlanRequest& request);

}  // namespace ridge::cli
