// ridge plan MODEL --training OPTIMISER: memory of training, the batch that fits, speed and scaling. One form of `ridge plan`.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace ridge::cli {

struct TrainingOptions {
  std::string optimiser;  // empty: not asked for
  std::string precision;  // empty: as --precision
  bool checkpoint = false;
  int64_t accumulate = 1;
  int zero = 0;
  int devices = 1, tensor = 1, pipeline = 1;
  bool offload = false;
  int64_t lora = 0;
  bool qlora = false;
  std::string link = "pcie4";
  std::optional<double> overlap;     // share
  std::optional<double> efficiency;  // share of the peak
};
void declare(CLI::App& app, TrainingOptions& options);
bool wanted(const TrainingOptions& options);

struct PlanRequest;
struct Section;
struct Study;

Status check(const TrainingOptions& options);
Result<Section> training_section(const Study& study);

}  // namespace ridge::cli
