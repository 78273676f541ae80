// ridge plan MODEL --rps R [--p99-ms T]: instances and machines for a load. One form of `ridge plan`.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace ridge::cli {

struct LoadOptions {
  std::optional<double> rows_per_s;
  std::optional<double> p99_ms;
  std::optional<double> service_ms;  // of one run, measured or known otherwise
  std::string from;                  // JSON of `ridge bench MODEL`: its mean latency
  std::optional<double> most_busy_percent;
  std::optional<int> instances_per_machine;
};
void declare(CLI::App& app, LoadOptions& options);
bool wanted(const LoadOptions& options);

struct PlanRequest;
struct Section;
struct Study;

// What does not go together is wrong usage.
Status check(const LoadOptions& options);
Result<Section> load_section(const Study& study);

}  // namespace ridge::cli
