#include "limits/accelerator/setting.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "gpu/nvml/nvml.h"
#include "limits/accelerator/watch.h"

namespace ridge::limits::accelerator {
namespace {

std::string limit_text(const std::optional<int64_t>& limit_mw) {
  return limit_mw ? fmt::format("{:.0f} W", static_cast<double>(*limit_mw) / 1e3) : "unknown";
}

std::string ecc_text(const std::optional<bool>& ecc) { return !ecc ? "unknown" : *ecc ? "on" : "off"; }

}  // namespace

Setting setting_of(const gpu::DeviceFacts& facts, const gpu::GpuSystem* system) {
  Setting setting;
  setting.gpu = facts.uuid.empty() ? facts.pci_address : facts.uuid;
  setting.name = facts.name;
  setting.driver = facts.software;
  setting.compute_units = facts.compute_units;
  if (!system) return setting;
  const Result<int> index = matching_gpu(system->gpus, facts);
  if (!index) return setting;
  const gpu::Gpu& gpu = system->gpus[static_cast<size_t>(*index)];
  if (system->driver_version)
    setting.driver = *system->driver_version + (facts.software.empty() ? "" : ", " + facts.software);
  setting.power_limit_mw = gpu.power_limit_mw.value;
  setting.ecc = gpu.ecc.value;
  return setting;
}

Setting setting_now(const gpu::DeviceFacts& facts) {
  if (facts.uuid.empty() && facts.pci_address.empty()) return setting_of(facts, nullptr);
  const Result<gpu::nvml::Nvml> nvml = gpu::nvml::Nvml::open();
  if (!nvml) return setting_of(facts, nullptr);
  const gpu::GpuSystem system = nvml->system();
  return setting_of(facts, &system);
}

std::string differences(const Setting& then, const Setting& now) {
  std::string text;
  auto compare = [&](const char* what, const std::string& before, const std::string& after) {
    if (before == after) return;
    text += fmt::format("{}{} {} then, {} now", text.empty() ? "" : "; ", what, before, after);
  };
  compare("card", then.gpu, now.gpu);
  compare("name", then.name, now.name);
  compare("driver", then.driver, now.driver);
  compare("units", std::to_string(then.compute_units), std::to_string(now.compute_units));
  compare("power limit", limit_text(then.power_limit_mw), limit_text(now.power_limit_mw));
  compare("error correction", ecc_text(then.ecc), ecc_text(now.ecc));
  compare("ridge's method", std::to_string(then.method), std::to_string(now.method));
  return text;
}

std::string describe(const Setting& setting) {
  std::string text = setting.driver.empty() ? "" : "driver " + setting.driver;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (setting.power_limit_mw) add("power limit " + limit_text(setting.power_limit_mw));
  if (setting.ecc) add("error correction " + ecc_text(setting.ecc));
  return text;
}

}  // namespace ridge::limits::accelerator
