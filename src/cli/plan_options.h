// What `ridge plan` was asked, as typed and as understood. Options of one form (load, cost, LLM …) lie with that form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "catalogue/catalogue.h"
#include "cli/plan_cost.h"
#include "cli/plan_llm.h"
#include "cli/plan_load.h"
#include "cli/plan_memory.h"
#include "cli/plan_training.h"
#include "limits/nvidia_gpu.h"
#include "model/reader.h"
#include "predict/batch_curve.h"
#include "report/page.h"

namespace CLI {
class App;
}

namespace ridge::cli {

struct PlanOptions {
  std::string model;
  std::string batch;  // empty: 1; of a language model: what fits
  std::vector<std::string> shapes;
  std::optional<int> threads;
  std::string precision;  // empty: fp32; of a language model fp16
  std::string device;     // a name of the catalogue; empty: this machine
  int layers = 20;
  bool calibrate = false;
  bool verify = false;
  int instances = 1;  // of the estimate
  bool fresh = false;
  bool json = false;
  bool csv = false;
  std::string html;  // file to write the page to; empty: none
  std::string language = "en";
  LlmOptions llm;
  LoadOptions load;
  CostOptions cost;
  MemoryFormOptions memory;
  TrainingOptions training;
};

void declare(CLI::App& app, PlanOptions& options);

// The options understood; an error here is wrong usage.
struct PlanRequest {
  PlanOptions options;
  model::Binding binding;  // with the first batch
  predict::BatchRange batch;
  Precision precision = Precision::kFp32;
  std::optional<catalogue::CatalogueDevice> device;  // absent: this machine's CPU
  std::optional<limits::NvidiaGpu> gpu;              // `device` is this one, which is in this machine
  report::Language language = report::Language::kEnglish;
};
Result<PlanRequest> request_of(const PlanOptions& options);

}  // namespace ridge::cli
