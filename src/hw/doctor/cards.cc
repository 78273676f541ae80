#include "hw/doctor/cards.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hw/doctor/capture.h"
#include "hw/doctor/card_checks.h"
#include "hw/doctor/facts.h"
#include "hw/doctor/probes.h"
#include "hw/kernel_gpus.h"

namespace ridge::hw::doctor {
namespace {

gpu::Reading<gpu::CardSystem> nvidia_system(const Tree& tree) {
  if (!tree.files.contains(entry::kNvml)) return Error{Code::kNotFound, reason_at(tree, entry::kNvml)};
  Result<Json> json = json_at(tree, entry::kNvml);
  if (!json) return json.error();
  return gpu::card_system_from_json(*json);
}

gpu::Reading<gpu::CardSystem> kernel_system(const Tree& tree, GpuVendor vendor) {
  gpu::CardSystem system;
  system.cards = kernel_gpus(tree, vendor);
  if (system.cards.empty())
    return Error{Code::kNotFound,
                 fmt::format("there is no GPU of {} that {} has", vendor_name(vendor), library_name(vendor))};
  system.library = library_name(vendor);
  system.driver_version = kernel_driver_version(tree, vendor);
  system.cuda_version = Error{Code::kUnsupported, "a notion of NVIDIA's"};
  return system;
}

}  // namespace

Tree gather_cards(Nanoseconds limit, const std::string& root) {
  Tree tree;
  std::vector<std::string> files = kernel_gpu_files();
  for (const char* name : {"class", "vendor", "device", "uevent", "numa_node", "local_cpulist", "current_link_speed",
                           "current_link_width", "max_link_speed", "max_link_width"})
    files.push_back(std::string("sys/bus/pci/devices/*/") + name);
  capture(tree, root, files, limit);
  GatherOptions options;
  options.areas = {"gpu"};
  options.limit = limit;
  options.root = root;
  for (const Probe& probe : probes_of(options))
    for (std::string_view path : {entry::kNvml, entry::kGpuLooks, entry::kPciNames})
      if (probe.entry == path) save_answer(tree, probe.entry, probe.ask(tree));
  return tree;
}

std::vector<MakersSystem> cards_in(const Tree& tree) {
  std::vector<MakersSystem> makers;
  for (GpuVendor vendor : {GpuVendor::kNvidia, GpuVendor::kAmd, GpuVendor::kIntel})
    makers.push_back({vendor, std::string(library_name(vendor)),
                      vendor == GpuVendor::kNvidia ? nvidia_system(tree) : kernel_system(tree, vendor)});
  return makers;
}

}  // namespace ridge::hw::doctor
