#include "hw/doctor/gather.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "hw/cgroup.h"
#include "hw/doctor/areas.h"
#include "hw/doctor/capture.h"
#include "hw/doctor/probes.h"
#include "hw/limits_store.h"
#include "hw/probe.h"

namespace ridge::hw::doctor {
namespace {

bool wanted(const GatherOptions& options, std::string_view area) {
  return options.areas.empty() || std::find(options.areas.begin(), options.areas.end(), area) != options.areas.end();
}

std::vector<std::string> cgroup_files() {
  std::vector<std::string> files;
  auto add = [&](const char* controller, std::initializer_list<const char*> names) {
    for (const std::string& folder : cgroup_folders("", controller))
      for (const char* name : names) files.push_back(folder.substr(1) + "/" + name);
  };
  add("cpu", {"cpu.max", "cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us"});
  add("memory", {"memory.max", "memory.current", "memory.events", "memory.limit_in_bytes", "memory.usage_in_bytes"});
  add("pids", {"pids.max", "pids.current"});
  return files;
}

std::vector<std::string> files_of(const GatherOptions& options) {
  std::vector<std::string> files = cgroup_files();
  for (const Area& area : areas())
    if (wanted(options, area.name)) files.insert(files.end(), area.files.begin(), area.files.end());
  // An engine that finds no card is a fault only where there is one.
  if (wanted(options, "engines") && !wanted(options, "gpu"))
    for (const char* name : {"class", "vendor", "device"})
      files.push_back(std::string("sys/bus/pci/devices/*/") + name);
  return files;
}

// Limits from the store, or measured where that is wanted; else the bare facts.
Result<Machine> machine_with_limits(const GatherOptions& options) {
  LimitOptions limits;
  limits.progress = options.progress;
  bool needed = wanted(options, "memory") || wanted(options, "engines");
  if (options.measure && needed) {
    limits.fresh = options.fresh;
    return know(limits);
  }
  RIDGE_ASSIGN(Machine machine, probe());
  Result<Machine> stored = recall_or_measure(
      machine, limits, [](const Machine&) { return Result<Limits>(Error{Code::kNotFound, "not measured"}); });
  return stored ? std::move(*stored) : std::move(machine);
}

void set_machine(Facts& facts, const Result<Machine>& machine) {
  if (machine)
    facts.machine = *machine;
  else
    facts.machine_reason = machine.error().message;
}

}  // namespace

Facts gather(const GatherOptions& options) {
  Facts facts;
  auto tell = [&](const std::string& step, double share) {
    if (options.progress) options.progress(step, share);
  };
  tell("read the system's files", 0);
  capture(facts.tree, "", files_of(options), options.limit);
  std::vector<Probe> probes = probes_of(options);
  std::erase_if(probes, [&](const Probe& probe) {
    return std::none_of(probe.areas.begin(), probe.areas.end(),
                        [&](std::string_view area) { return wanted(options, area); });
  });
  for (size_t i = 0; i < probes.size(); ++i) {
    tell(probes[i].step, 0.1 + 0.5 * static_cast<double>(i) / static_cast<double>(probes.size()));
    save_answer(facts.tree, probes[i].entry, probes[i].ask(facts.tree));
  }
  // Last, because measuring starts threads.
  set_machine(facts, machine_with_limits(options));
  if (facts.machine) facts.tree.files[entry::kMachine] = dump_json(to_json(*facts.machine));
  return facts;
}

Result<Facts> recall(const std::string& path) {
  Facts facts;
  RIDGE_ASSIGN(facts.tree, read_tree(path));
  if (facts.tree.files.contains(entry::kMachine)) {
    Result<Json> json = json_at(facts.tree, entry::kMachine);
    set_machine(facts, json ? machine_from_json(*json) : Result<Machine>(json.error()));
    return facts;
  }
  RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  RIDGE_TRY(unpack_tree(facts.tree, folder.path()));
  set_machine(facts, probe(folder.path()));
  return facts;
}

}  // namespace ridge::hw::doctor
