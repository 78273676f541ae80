#include "doctor/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "catalogue/capability.h"
#include "catalogue/catalogue.h"
#include "doctor/facts.h"
#include "doctor/gather_gpus.h"
#include "gpu/cuda/cuda.h"

namespace ridge::doctor {
namespace {

using gpu::cuda::CudaDevice;

// NVIDIA's driver's report on the GPU at this address; a slice has the address of its GPU.
const CudaDevice* driver_device(const std::vector<CudaDevice>& devices, const std::string& address) {
  const auto is_it = [&](const CudaDevice& device) {
    return device.mig_uuid.empty() && !address.empty() && device.pci_address == address;
  };
  const auto found = std::find_if(devices.begin(), devices.end(), is_it);
  return found == devices.end() ? nullptr : &*found;
}

void set_multiprocessors(InventoryGpu& entry) {
  if (!entry.gpu.cores || !entry.gpu.compute_capability) return;
  Result<std::vector<catalogue::Capability>> all = catalogue::capabilities();
  if (!all) return;
  Result<catalogue::Capability> capability = catalogue::find_capability(*all, *entry.gpu.compute_capability);
  if (capability && capability->fp32_lanes.value_or(0) > 0)
    entry.multiprocessors = {*entry.gpu.cores / *capability->fp32_lanes, Origin::kDerived};
}

void set_cache(InventoryGpu& entry) {
  if (!entry.gpu.name) return;
  Result<std::vector<catalogue::CatalogueDevice>> devices = catalogue::catalogue();
  if (!devices) return;
  Result<catalogue::CatalogueDevice> device = catalogue::find_device(*devices, *entry.gpu.name);
  if (device && device->l2_bytes) entry.l2_bytes = {static_cast<int64_t>(*device->l2_bytes), Origin::kDatasheet};
}

InventoryGpu entry_for(const machine::Tree& tree, const std::vector<CudaDevice>& driver, std::string_view vendor,
                       const gpu::Gpu& gpu) {
  InventoryGpu entry;
  entry.vendor = vendor;
  entry.gpu = gpu;
  const std::string address = gpu.pci_address ? *gpu.pci_address : "";
  const std::string folder = "sys/bus/pci/devices/" + address + "/";
  if (!address.empty()) {
    entry.numa_node = machine::number_at(tree, folder + "numa_node");
    if (entry.numa_node && *entry.numa_node < 0) entry.numa_node.reset();
    entry.cpus = machine::text_at(tree, folder + "local_cpulist").value_or("");
  }
  if (const CudaDevice* device = driver_device(driver, address)) {
    if (device->multiprocessors > 0) entry.multiprocessors = {device->multiprocessors, Origin::kMeasured};
    if (device->l2_bytes > 0) entry.l2_bytes = {device->l2_bytes, Origin::kMeasured};
  }
  if (!entry.multiprocessors) set_multiprocessors(entry);
  if (!entry.l2_bytes) set_cache(entry);
  return entry;
}

bool is_gpu(const std::string& address, const std::vector<InventoryGpu>& all) {
  return std::any_of(all.begin(), all.end(), [&](const InventoryGpu& entry) {
    return entry.gpu.pci_address && *entry.gpu.pci_address == address;
  });
}

// Active links that lead to no GPU but to switches; by the switch's address.
std::multiset<std::string> links_to_switches(const gpu::Gpu& gpu, const std::vector<InventoryGpu>& all) {
  std::multiset<std::string> switches;
  for (const gpu::PeerLink& link : gpu.links)
    if (link.up && link.remote && !is_gpu(*link.remote, all)) switches.insert(*link.remote);
  return switches;
}

// Reads the bus. GPUs of one library have its report; others are on the same memory node or on different ones.
std::string bus_level(const InventoryGpu& one, const InventoryGpu& other, const std::vector<gpu::GpuPair>& pairs) {
  for (const gpu::GpuPair& pair : pairs) {
    const bool meant = (pair.first == one.gpu.index && pair.second == other.gpu.index) ||
                       (pair.first == other.gpu.index && pair.second == one.gpu.index);
    if (one.vendor == "NVIDIA" && other.vendor == "NVIDIA" && meant) return pair.level ? *pair.level : "-";
  }
  return one.numa_node && other.numa_node && *one.numa_node != *other.numa_node ? "SYS" : "-";
}

void fill_matrix(Inventory& inventory, const std::vector<gpu::GpuPair>& pairs) {
  const size_t count = inventory.gpus.size();
  inventory.matrix.assign(count, std::vector<std::string>(count, "X"));
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      const InventoryGpu &one = inventory.gpus[i], &other = inventory.gpus[j];
      const int64_t links = links_between(one.gpu, other.gpu, inventory.gpus);
      inventory.matrix[i][j] = links > 0 ? fmt::format("NV{}", links) : bus_level(one, other, pairs);
    }
}

}  // namespace

int64_t links_between(const gpu::Gpu& gpu, const gpu::Gpu& other, const std::vector<InventoryGpu>& all) {
  int64_t direct = 0, switched = 0;
  for (const gpu::PeerLink& link : gpu.links)
    if (link.up && link.remote && other.pci_address && *link.remote == *other.pci_address) ++direct;
  if (direct > 0) return direct;
  std::multiset<std::string> own = links_to_switches(gpu, all), its = links_to_switches(other, all);
  for (const std::string& address : std::set<std::string>(own.begin(), own.end()))
    switched += static_cast<int64_t>(std::min(own.count(address), its.count(address)));
  return switched;
}

Inventory inventory_of(const machine::Tree& tree) {
  Inventory inventory;
  const Result<Json> recorded = machine::json_at(tree, entry::kCuda);
  const auto driver = recorded ? from_json<std::vector<CudaDevice>>(*recorded) : recorded.error();
  std::vector<gpu::GpuPair> pairs;
  for (const VendorsSystem& vendor : gpus_in(tree)) {
    if (!vendor.system) continue;
    for (const gpu::Gpu& gpu : vendor.system->gpus)
      inventory.gpus.push_back(
          entry_for(tree, driver ? *driver : std::vector<CudaDevice>(), machine::vendor_name(vendor.vendor), gpu));
    if (vendor.vendor == machine::GpuVendor::kNvidia) pairs = vendor.system->pairs;
  }
  fill_matrix(inventory, pairs);
  return inventory;
}

}  // namespace ridge::doctor
