#include "doctor/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "doctor/areas.h"
#include "doctor/capture.h"
#include "doctor/gather_engines.h"
#include "doctor/probes.h"
#include "limits/limits_store.h"
#include "machine/cgroup.h"
#include "machine/disturbance.h"
#include "machine/probe.h"

namespace ridge::doctor {
namespace {

bool wanted(const GatherOptions& options, std::string_view area) {
  return options.areas.empty() || std::find(options.areas.begin(), options.areas.end(), area) != options.areas.end();
}

std::vector<std::string> cgroup_files() {
  std::vector<std::string> files;
  auto add = [&](const char* controller, std::initializer_list<const char*> names) {
    for (const std::string& folder : machine::cgroup_folders("", controller))
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
  // An engine that finds no GPU is a failure only if there is one.
  if (wanted(options, "engines") && !wanted(options, "gpu"))
    for (const char* name : {"class", "vendor", "device"})
      files.push_back(std::string("sys/bus/pci/devices/*/") + name);
  return files;
}

// Limits from the store, or measured on request; else the bare facts.
Result<machine::Machine> machine_with_limits(const GatherOptions& options) {
  const bool needed = wanted(options, "memory") || wanted(options, "engines");
  if (options.measure && needed) return limits::machine_with_limits({options.fresh, "", options.progress});
  RIDGE_ASSIGN(machine::Machine machine, machine::probe());
  limits::recall(machine);
  return machine;
}

// Python folders that hold the engines' libraries: ".../site-packages", Debian's ".../dist-packages".
std::vector<std::string> package_folders(const std::vector<EngineFacts>& engines) {
  std::vector<std::string> folders;
  for (const EngineFacts& engine : engines)
    if (size_t at = engine.library.find("-packages/"); at != std::string::npos)
      folders.push_back(engine.library.substr(0, engine.library.find('/', at)));
  return folders;
}

void set_machine(Facts& facts, const Result<machine::Machine>& machine) {
  if (machine)
    facts.machine = *machine;
  else
    facts.machine_reason = machine.error().message;
}

}  // namespace

Facts gather(const GatherOptions& options) {
  Facts facts;
  machine::DisturbanceWatch watch;
  auto report = [&](const std::string& step, double share) {
    if (options.progress) options.progress(step, share);
  };
  std::vector<EngineFacts> engines;
  if (wanted(options, "engines") || wanted(options, "versions")) {
    report("engines", 0);
    engines = gather_engines({options.engine_library, options.providers, options.engine_limit});
    facts.tree.files[entry::kEngines] = dump_json(json_of(engines));
  }
  report("read the system's files", 0);
  capture(facts.tree, "", files_of(options), options.limit);
  for (size_t i = 0; i < options.outputs.size(); ++i)
    facts.tree.files[fmt::format("{}/{}", entry::kOutputs, i)] = options.outputs[i];
  std::vector<Probe> probes = probes_of(options, package_folders(engines));
  std::erase_if(probes, [&](const Probe& probe) {
    return std::none_of(probe.areas.begin(), probe.areas.end(),
                        [&](std::string_view area) { return wanted(options, area); });
  });
  for (size_t i = 0; i < probes.size(); ++i) {
    report(probes[i].step, 0.1 + 0.5 * static_cast<double>(i) / static_cast<double>(probes.size()));
    machine::save_answer(facts.tree, probes[i].entry, probes[i].ask(facts.tree));
  }
  if (wanted(options, "cpu")) facts.tree.files[entry::kOthers] = dump_json(json_of(watch.end()));
  // Last, because measuring starts threads.
  set_machine(facts, machine_with_limits(options));
  if (facts.machine) facts.tree.files[entry::kMachine] = dump_json(to_json(*facts.machine));
  return facts;
}

Result<Facts> recall(const std::string& path) {
  Facts facts;
  RIDGE_ASSIGN(facts.tree, machine::read_tree(path));
  if (facts.tree.files.contains(entry::kMachine)) {
    Result<Json> json = machine::json_at(facts.tree, entry::kMachine);
    set_machine(facts, json ? from_json<machine::Machine>(*json) : Result<machine::Machine>(json.error()));
    return facts;
  }
  RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  RIDGE_TRY(machine::unpack_tree(facts.tree, folder.path()));
  set_machine(facts, machine::probe(folder.path()));
  return facts;
}

}  // namespace ridge::doctor
