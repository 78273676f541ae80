#include "plan/device.h"

#include <array>
#include <charconv>

#include "base/name_table.h"

namespace ridge::plan {
namespace {

constexpr std::array<std::pair<DeviceKind, std::string_view>, 4> kDeviceKinds = {{{DeviceKind::kCpu, "cpu"},
                                                                                  {DeviceKind::kCuda, "cuda"},
                                                                                  {DeviceKind::kTensorRt, "tensorrt"},
                                                                                  {DeviceKind::kGpu, "gpu"}}};
constexpr int kMostIndex = 255;

Error unknown_device(std::string_view name) {
  return invalid("there is no device '" + std::string(name) +
                 "'; the devices are cpu, cuda:N and tensorrt:N (NVIDIA GPU N, ONNX Runtime) and gpu:N (Intel "
                 "GPU N, OpenVINO)");
}

}  // namespace

Result<Device> device_from_name(std::string_view name) {
  const size_t colon = name.find(':');
  Result<DeviceKind> kind = from_name<DeviceKind>(kDeviceKinds, name.substr(0, colon), "device");
  if (!kind) return unknown_device(name);
  Device device{*kind, 0};
  if (colon == std::string_view::npos) return device;
  const std::string_view digits = name.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
  const bool number = error == std::errc() && end == digits.data() + digits.size() && digits.front() != '-';
  if (!number || device.index > kMostIndex || device.kind == DeviceKind::kCpu) return unknown_device(name);
  return device;
}

std::string device_name(const Device& device) {
  const std::string kind(name_of(kDeviceKinds, device.kind));
  return device.kind == DeviceKind::kCpu ? kind : kind + ":" + std::to_string(device.index);
}

}  // namespace ridge::plan
