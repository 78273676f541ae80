#include "machine/pci_gpus.h"

#include <cstdlib>

#include "base/proc_text.h"

namespace ridge::machine {
namespace {

const std::string kDevices = "sys/bus/pci/devices";

// "0x030200" → base class and sub-class 0x0302. PCI Code and ID Assignment Specification: 0300 VGA, 0302 3D controller,
// 0380 other display, 1200 processing accelerator.
bool is_accelerator(int64_t class_code) {
  int64_t kind = class_code >> 8;
  return kind == 0x0300 || kind == 0x0302 || kind == 0x0380 || kind == 0x1200;
}

std::optional<int64_t> hexadecimal(const Tree& tree, const std::string& path) {
  std::optional<std::string> text = text_at(tree, path);
  if (!text) return std::nullopt;
  char* end = nullptr;
  int64_t value = std::strtoll(text->c_str(), &end, 16);
  if (end == text->c_str()) return std::nullopt;
  return value;
}

std::optional<GpuVendor> vendor_of(int64_t id) {
  switch (id) {
    case 0x10de: return GpuVendor::kNvidia;
    case 0x1002: return GpuVendor::kAmd;
    case 0x8086: return GpuVendor::kIntel;
    default: return std::nullopt;
  }
}

// "16.0 GT/s PCIe" → 16; "Unknown" → absent.
std::optional<double> speed_at(const Tree& tree, const std::string& path) {
  std::optional<std::string> text = text_at(tree, path);
  if (!text) return std::nullopt;
  char* end = nullptr;
  double value = std::strtod(text->c_str(), &end);
  if (end == text->c_str() || value <= 0) return std::nullopt;
  return value;
}

// Devices without a link report 0 and 255.
std::optional<int64_t> width_at(const Tree& tree, const std::string& path) {
  std::optional<int64_t> width = number_at(tree, path);
  return width && *width > 0 && *width < 255 ? width : std::nullopt;
}

std::string without_prefix(const std::string& text) { return text.starts_with("0x") ? text.substr(2) : text; }

}  // namespace

std::string_view vendor_name(GpuVendor vendor) {
  switch (vendor) {
    case GpuVendor::kNvidia: return "NVIDIA";
    case GpuVendor::kAmd: return "AMD";
    case GpuVendor::kIntel: return "Intel";
  }
  return "";
}

std::vector<PciGpu> pci_gpus(const Tree& tree) {
  std::vector<PciGpu> gpus;
  for (const std::string& address : children(tree, kDevices)) {
    const std::string folder = kDevices + "/" + address + "/";
    std::optional<int64_t> kind = hexadecimal(tree, folder + "class"), vendor = hexadecimal(tree, folder + "vendor");
    if (!kind || !vendor || !is_accelerator(*kind) || !vendor_of(*vendor)) continue;
    PciGpu gpu;
    gpu.address = address;
    gpu.vendor = *vendor_of(*vendor);
    gpu.id = without_prefix(*text_at(tree, folder + "vendor")) + ":" +
             without_prefix(text_at(tree, folder + "device").value_or("0x????"));
    gpu.driver = line_value(text_at(tree, folder + "uevent").value_or(""), "DRIVER", '=').value_or("");
    // Intel's integrated graphics is always at 00:02.0.
    gpu.display_only = gpu.vendor == GpuVendor::kIntel && address.ends_with(":00:02.0");
    gpu.numa_node = number_at(tree, folder + "numa_node");
    gpu.width = width_at(tree, folder + "current_link_width");
    gpu.width_max = width_at(tree, folder + "max_link_width");
    gpu.speed = speed_at(tree, folder + "current_link_speed");
    gpu.speed_max = speed_at(tree, folder + "max_link_speed");
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

double link_bytes_per_s(int64_t lanes, double gigatransfers_per_s) {
  double coding = gigatransfers_per_s <= 5 ? 8.0 / 10 : 128.0 / 130;
  return static_cast<double>(lanes) * gigatransfers_per_s * 1e9 * coding / 8;
}

std::optional<double> link_bytes_per_s_at(const Tree& tree, const std::string& folder) {
  const std::optional<int64_t> lanes = width_at(tree, folder + "current_link_width");
  const std::optional<double> speed = speed_at(tree, folder + "current_link_speed");
  return lanes && speed ? std::optional(link_bytes_per_s(*lanes, *speed)) : std::nullopt;
}

}  // namespace ridge::machine
