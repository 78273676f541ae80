#include "engine/openvino/plugin/device.h"

#include <algorithm>
#include <vector>

#include "engine/openvino/plugin/engine_core.h"
#include "engine/openvino/plugin/guarded.h"
#include "plan/device.h"

namespace ridge::engine::openvino::plugin {

Result<std::string> device_of(const std::string& device) {
  RIDGE_ASSIGN(const plan::Device wanted, plan::device_from_name(device));
  if (wanted.kind == plan::DeviceKind::kCpu) return std::string("CPU");
  if (wanted.kind != plan::DeviceKind::kGpu)
    return Error{Code::kUnsupported, "OpenVINO has no device " + plan::device_name(wanted) +
                                         ", only for cpu and gpu:N (an Intel GPU); " + plan::device_name(wanted) +
                                         " is ONNX Runtime's (--engine onnxruntime)"};
  std::vector<std::string> found;
  RIDGE_TRY(guarded("OpenVINO could not list devices", [&]() -> Status {
    found = core().get_available_devices();
    return {};
  }));
  const std::string name = "GPU." + std::to_string(wanted.index);
  // A single GPU has no number.
  if (std::find(found.begin(), found.end(), name) != found.end()) return name;
  if (wanted.index == 0 && std::find(found.begin(), found.end(), "GPU") != found.end()) return name;
  std::string has;
  for (const std::string& one : found) has += (has.empty() ? "" : ", ") + one;
  return Error{
      Code::kUnavailable,
      "device " + plan::device_name(wanted) + " cannot be used: OpenVINO finds " + (has.empty() ? "none" : has) +
          " here, and no " + name +
          ". Its GPU plugin needs an Intel GPU, Intel's OpenCL driver (Debian: intel-opencl-icd) and access to "
          "/dev/dri (group render); clinfo shows whether they exist"};
}

}  // namespace ridge::engine::openvino::plugin
