#include <nlohmann/json.hpp>

#include "catalogue/catalogue.h"

namespace ridge::catalogue {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json to_json(const CatalogueDevice& device, const CataloguePeak& peak) {
  return Json{{"arithmetic", arithmetic_name(peak.arithmetic)},
              {"flops_per_s", peak.flops_per_s},
              {"origin", origin_name(peak.origin)},
              {"ridge_point", or_null(ridge_point(device, peak.arithmetic))}};
}

}  // namespace

Json to_json(const CatalogueDevice& device) {
  Json peaks = Json::array();
  for (const CataloguePeak& peak : device.peaks) peaks.push_back(to_json(device, peak));
  return Json{{"vendor", device.vendor},
              {"name", device.name},
              {"family", device.family},
              {"architecture", device.architecture},
              {"compute_capability", text_or_null(device.compute_capability)},
              {"year", or_null(device.year)},
              {"multiprocessors", or_null(device.multiprocessors)},
              {"cores", or_null(device.cores)},
              {"flops_per_core_clock", or_null(device.flops_per_core_clock)},
              {"tensor_cores", or_null(device.tensor_cores)},
              {"boost_hz", or_null(device.boost_hz)},
              {"memory_bytes", or_null(device.memory_bytes)},
              {"memory_type", text_or_null(device.memory_type)},
              {"bytes_per_s", or_null(device.bytes_per_s)},
              {"l2_bytes", or_null(device.l2_bytes)},
              {"peaks", peaks},
              {"power_w", or_null(device.power_w)},
              {"gpus_on_board", device.gpus_on_board},
              {"interconnect", text_or_null(device.interconnect)},
              {"interconnect_bytes_per_s", or_null(device.interconnect_bytes_per_s)},
              {"pcie", text_or_null(device.pcie)},
              {"form_factor", text_or_null(device.form_factor)},
              {"mig_instances", or_null(device.mig_instances)},
              {"notes", text_or_null(device.notes)},
              {"source", device.source}};
}

}  // namespace ridge::catalogue
