// ridge plan MODEL --memory [--measure] [--memory-limit SIZE]: what running the model needs before it is loaded, the largest batch and the
// number of instances that fit. One form of `ridge plan`.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/graph.h"

namespace CLI {
class App;
}

namespace ridge::cli {

struct MemoryFormOptions {
  bool memory = false;
  std::string limit;     // "2GiB"; empty: what the device has
  bool measure = false;  // run the model too
};
void declare(CLI::App& app, MemoryFormOptions& options);
bool wanted(const MemoryFormOptions& options);

struct PlanRequest;
struct Section;
struct Study;

Status check(const MemoryFormOptions& options);
Result<Section> memory_section(const Study& study);

// The study's graph at another batch; absent if the file fixes the batch.
std::optional<model::Graph> graph_at_batch(const Study& study, int64_t batch);

}  // namespace ridge::cli
