#include "app/serve_machine.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/decoder_model.h"
#include "base/file.h"
#include "base/log.h"
#include "cost/costs.h"
#include "limits/limits_store.h"
#include "llm/cpu/decoder_limit.h"
#include "machine/probe.h"
#include "telemetry/host.h"

namespace ridge::app {
namespace {

// Memory that this process can still take without swapping, within the control group's limit. 0: not known.
uint64_t free_memory(std::optional<int64_t> limit) {
  const telemetry::HostSample host = telemetry::HostSampler().sample();
  const uint64_t free = host.memory ? host.memory->available_bytes : 0;
  if (!limit || !host.resident_bytes) return free;
  const int64_t left = std::max<int64_t>(1, *limit - static_cast<int64_t>(*host.resident_bytes));
  return std::min(free, static_cast<uint64_t>(left));
}

// Limits that `ridge tune` wrote beside a model on a machine like this one: a container starts without a cache.
bool recall_from(const std::vector<std::string>& repositories, machine::Machine& machine) {
  for (const std::string& repository : repositories) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(repository, error); !error && entry != decltype(entry)();
         entry.increment(error)) {
      const std::string file = (entry->path() / "tuning.json").string();
      const Result<Json> json = parse_json(text_or_empty(file), file);
      if (!json || !json->is_object() || !json->contains("machine")) continue;
      Result<machine::Machine> tuned = from_json<machine::Machine>(json->at("machine"));
      if (!tuned || tuned->id != machine.id || !limits::take_limits(std::move(*tuned), machine)) continue;
      log::info("the limits of this machine are those of {}", file);
      return true;
    }
  }
  return false;
}

// Sets the bound of a run on all usable CPUs. Uses stored limits only; measuring here would delay the start.
void set_bounds(machine::Machine machine, serve::ServerOptions& server) {
  if (!limits::recall(machine) && !recall_from(server.repositories, machine)) return;
  const int threads = machine::usable_threads(machine);
  const Result<cost::DeviceLimits> limits = cost::limits_of(machine, threads);
  if (!limits) return;
  const double quota = machine::quota_factor(machine, threads);
  server.bound = [limits = *limits, quota](const model::Graph& graph, Precision precision) {
    return cost::bound(cost::count(graph, precision), limits).ms / 1e3 / quota;
  };
  server.step_bound = [limits = *limits, quota](const engine::DecoderPlan& plan,
                                                const engine::DecoderInfo& info) -> serve::StepBound {
    Result<llm::Model> model = read_decoder_model(plan.folder);
    if (!model) return {};
    const auto limit = std::make_shared<const llm::cpu::DecoderLimit>(std::move(*model), plan.weights, plan.cache,
                                                                      info.weight_bytes, limits, quota);
    return [limit](std::span<const engine::StepSequence> sequences) { return limit->seconds(sequences); };
  };
}

}  // namespace

void fit_machine(ServeRequest& request) {
  Result<machine::Machine> machine = machine::probe();
  if (machine) {
    const machine::Memory& memory = machine->memory;
    const int64_t bytes = std::min(memory.limit_bytes.value_or(memory.total_bytes), memory.total_bytes);
    request.server.batch_memory = static_cast<uint64_t>(std::max<int64_t>(0, bytes)) / 2;
    if (request.max_body_memory == 0) request.max_body_memory = request.server.batch_memory;
    request.server.cores = machine::usable_threads(*machine);
    set_bounds(*machine, request.server);
    if (!request.server.free_memory)
      request.server.free_memory = [limit = memory.limit_bytes] { return free_memory(limit); };
    return;
  }
  log::warning("the cores of this machine are not known ({}); models get the engine's default number of threads",
               machine.error().message);
}

}  // namespace ridge::app
