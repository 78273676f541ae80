#include "doctor/gather_gpus.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "doctor/capture.h"
#include "doctor/facts.h"
#include "doctor/gpu_checks.h"
#include "doctor/probes.h"
#include "machine/kernel_gpus.h"

namespace ridge::doctor {
namespace {

Result<gpu::GpuSystem> nvidia_system(const machine::Tree& tree) {
  RIDGE_ASSIGN(const Json json, machine::json_at(tree, entry::kNvml));
  return from_json<gpu::GpuSystem>(json);
}

Result<gpu::GpuSystem> kernel_system(const machine::Tree& tree, machine::GpuVendor vendor) {
  gpu::GpuSystem system;
  system.gpus = machine::kernel_gpus(tree, vendor);
  if (system.gpus.empty())
    return Error{Code::kNotFound,
                 fmt::format("there is no GPU of {} that {} has", machine::vendor_name(vendor), library_name(vendor))};
  system.library = library_name(vendor);
  system.driver_version = machine::kernel_driver_version(tree, vendor);
  system.cuda_version = Error{Code::kUnsupported, "a notion of NVIDIA's"};
  return system;
}

}  // namespace

machine::Tree gather_gpus(Nanoseconds limit, const std::string& root) {
  machine::Tree tree;
  std::vector<std::string> files = machine::kernel_gpu_files();
  for (const char* name : {"class", "vendor", "device", "uevent", "numa_node", "local_cpulist", "current_link_speed",
                           "current_link_width", "max_link_speed", "max_link_width"})
    files.push_back(std::string("sys/bus/pci/devices/*/") + name);
  capture(tree, root, files, limit);
  GatherOptions options;
  options.areas = {"gpu"};
  options.limit = limit;
  options.root = root;
  for (const Probe& probe : probes_of(options, {}))
    for (std::string_view path : {entry::kNvml, entry::kGpuCounters, entry::kPciNames})
      if (probe.entry == path) machine::save_answer(tree, probe.entry, probe.ask(tree));
  return tree;
}

std::vector<VendorsSystem> gpus_in(const machine::Tree& tree) {
  std::vector<VendorsSystem> vendors;
  for (machine::GpuVendor vendor : {machine::GpuVendor::kNvidia, machine::GpuVendor::kAmd, machine::GpuVendor::kIntel})
    vendors.push_back({vendor, std::string(library_name(vendor)),
                       vendor == machine::GpuVendor::kNvidia ? nvidia_system(tree) : kernel_system(tree, vendor)});
  return vendors;
}

}  // namespace ridge::doctor
