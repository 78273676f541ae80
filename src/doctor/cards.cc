#include "doctor/cards.h"

#include <array>
#include <nlohmann/json.hpp>

#include "doctor/capture.h"
#include "doctor/card_checks.h"
#include "doctor/facts.h"
#include "doctor/probes.h"

namespace ridge::doctor {
namespace {

constexpr std::array<std::pair<machine::GpuVendor, const char*>, 3> kCardEntries = {
    {{machine::GpuVendor::kNvidia, entry::kNvml},
     {machine::GpuVendor::kAmd, entry::kAmdCards},
     {machine::GpuVendor::kIntel, entry::kIntelCards}}};

gpu::Reading<gpu::CardSystem> system_at(const machine::Tree& tree, const char* path) {
  if (!tree.files.contains(path)) return Error{Code::kNotFound, machine::reason_at(tree, path)};
  Result<Json> json = machine::json_at(tree, path);
  if (!json) return json.error();
  return gpu::card_system_from_json(*json);
}

}  // namespace

machine::Tree gather_cards(Nanoseconds limit) {
  machine::Tree tree;
  std::vector<std::string> files;
  for (const char* name : {"class", "vendor", "device", "uevent", "numa_node", "local_cpulist"})
    files.push_back(std::string("sys/bus/pci/devices/*/") + name);
  capture(tree, "", files, limit);
  GatherOptions options;
  options.areas = {"gpu"};
  options.limit = limit;
  for (const Probe& probe : probes_of(options, {}))
    for (const auto& [vendor, path] : kCardEntries)
      if (probe.entry == std::string_view(path)) machine::save_answer(tree, path, probe.ask(tree));
  return tree;
}

std::vector<MakersSystem> cards_in(const machine::Tree& tree) {
  std::vector<MakersSystem> makers;
  for (const auto& [vendor, path] : kCardEntries)
    makers.push_back({vendor, std::string(library_name(vendor)), system_at(tree, path)});
  return makers;
}

}  // namespace ridge::doctor
