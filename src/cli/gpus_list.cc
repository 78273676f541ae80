// Tables of many devices: list, comparison, families, capabilities.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "cli/figure_table.h"
#include "cli/gpus_text.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::string_view kAbsent = "-";
std::string or_absent(const std::string& text) { return text.empty() ? std::string(kAbsent) : text; }

// "82.6*": TFLOP/s; the star marks a computed rate. One digit behind the point for all, so that points stand in line.
std::string tera(const catalogue::CatalogueDevice& device, Precision arithmetic) {
  auto peak = catalogue::peak(device, arithmetic);
  if (!peak) return std::string(kAbsent) + " ";
  return fmt::format("{:.1f}{}", peak->flops_per_s / 1e12, peak->origin == Origin::kDerived ? "*" : " ");
}

template <typename T>
std::string scaled(const std::optional<T>& value, double unit, std::string_view format) {
  return value ? fmt::format(fmt::runtime(format), static_cast<double>(*value) / unit) : std::string(kAbsent);
}

std::string price_text(const Catalogue& catalogue, const catalogue::CatalogueDevice& device) {
  auto price = catalogue::price_of(catalogue.prices, device);
  return price ? fmt::format("{:.2f}", price->usd_per_gpu_hour) : std::string(kAbsent);
}

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

// "82.6 TFLOP/s (1.32 ×)": against the first device's.
std::string rate_against(const catalogue::CatalogueDevice& device, const catalogue::CatalogueDevice& first,
                         Precision arithmetic) {
  auto own = catalogue::peak(device, arithmetic), reference = catalogue::peak(first, arithmetic);
  if (!own) return std::string(kAbsent);
  std::string text = format_flops_rate(own->flops_per_s) + (own->origin == Origin::kDerived ? "*" : "");
  if (reference && &device != &first) text += fmt::format(" ({:.2f} ×)", own->flops_per_s / reference->flops_per_s);
  return text;
}

std::string against(const std::optional<double>& own, const std::optional<double>& first, bool is_first,
                    std::string (*format)(double)) {
  if (!own) return std::string(kAbsent);
  std::string text = format(*own);
  if (first && !is_first) text += fmt::format(" ({:.2f} ×)", *own / *first);
  return text;
}

std::string watts(double value) { return fmt::format("{:.0f} W", value); }

}  // namespace

std::string list_text(const Catalogue& catalogue, std::span<const catalogue::CatalogueDevice> devices) {
  OwnColumns own;
  for (const auto& [label, arithmetic, layout] :
       {std::tuple("FP32 ", Precision::kFp32, "r"), std::tuple("FP16 ", Precision::kFp16Fp32, "r"),
        std::tuple("INT8 ", Precision::kInt8, "r6")})
    own.last.push_back(
        own_column(label, devices, [peak = arithmetic](const auto& device) { return tera(device, peak); }, layout));
  own.last.push_back(
      own_column("USD/h", devices, [&](const auto& device) { return price_text(catalogue, device); }, "r2"));
  return figure_table("gpus", "devices", json_of(devices), {}, own) +
         "\nFP32, FP16 (tensor cores, FP32 accumulators), INT8: TFLOP/s, dense, at boost clock. Datasheet figures; "
         "* derived: units × operations × clock; - no source.\n";
}

std::string list_csv(const Catalogue& catalogue, std::span<const catalogue::CatalogueDevice> devices) {
  std::string columns =
      "vendor device=/name family architecture compute_capability year multiprocessors cores tensor_cores boost_hz "
      "memory_bytes bytes_per_s l2_bytes power_w gpus_on_board usd_per_gpu_hour";
  for (const auto& [arithmetic, name] : names_of(Precision()))
    columns += fmt::format(" {0}_flops_per_s {0}_origin", name);
  Json rows = json_of(devices);
  for (size_t i = 0; i < devices.size(); ++i) {
    if (auto price = catalogue::price_of(catalogue.prices, devices[i]))
      rows[i]["usd_per_gpu_hour"] = price->usd_per_gpu_hour;
    for (const auto& [arithmetic, name] : names_of(Precision())) {
      auto peak = catalogue::peak(devices[i], arithmetic);
      if (!peak) continue;
      rows[i][fmt::format("{}_flops_per_s", name)] = peak->flops_per_s;
      rows[i][fmt::format("{}_origin", name)] = origin_name(peak->origin);
    }
  }
  return csv_table(columns, rows);
}

std::string compare_text(const Catalogue& catalogue, std::span<const catalogue::CatalogueDevice> devices) {
  std::vector<std::string> header = {""};
  for (const catalogue::CatalogueDevice& device : devices) header.push_back(device.name);
  Rows rows;
  auto row = [&](std::string title, auto text) {
    std::vector<std::string> cells = {std::move(title)};
    for (const catalogue::CatalogueDevice& device : devices) cells.push_back(text(device));
    if (std::any_of(cells.begin() + 1, cells.end(), [](const std::string& cell) { return cell != kAbsent; }))
      rows.push_back(std::move(cells));
  };
  const catalogue::CatalogueDevice& first = devices.front();
  row("architecture", [](const auto& d) { return or_absent(d.architecture); });
  row("compute capability", [](const auto& d) { return or_absent(d.compute_capability); });
  row("released", [](const auto& d) { return scaled(d.year, 1, "{:.0f}"); });
  row("memory", [&](const auto& d) { return against(d.memory_bytes, first.memory_bytes, &d == &first, format_bytes); });
  row("bandwidth",
      [&](const auto& d) { return against(d.bytes_per_s, first.bytes_per_s, &d == &first, format_bandwidth); });
  row("L2 cache", [&](const auto& d) { return against(d.l2_bytes, first.l2_bytes, &d == &first, format_bytes); });
  for (const auto& [arithmetic, name] : names_of(Precision()))
    row(std::string(name), [&, arithmetic = arithmetic](const auto& d) { return rate_against(d, first, arithmetic); });
  row("ridge point, fp32",
      [](const auto& d) { return scaled(catalogue::ridge_point(d, Precision::kFp32), 1, "{:.1f} FLOP/byte"); });
  row("power", [&](const auto& d) {
    return against(catalogue::power_per_gpu_w(d), catalogue::power_per_gpu_w(first), &d == &first, watts);
  });
  row("link, both ways",
      [](const auto& d) { return d.interconnect_bytes_per_s ? format_bandwidth(*d.interconnect_bytes_per_s) : "-"; });
  row("USD per hour", [&](const auto& d) { return price_text(catalogue, d); });
  return table(header, rows, std::string("l") + std::string(devices.size(), 'r')) +
         "\nDatasheet figures, dense, at boost clock; * derived: units × operations × clock; - no source. × against "
         "the "
         "first.\n";
}

std::string families_text(const std::vector<catalogue::Family>& families) {
  return figure_table("gpus-families", "families", json_of(families));
}

std::string capabilities_text(const Catalogue& catalogue, std::span<const catalogue::Capability> capabilities) {
  const auto last_cuda = [](const auto& each) { return each.last_cuda.empty() ? "current" : each.last_cuda; };
  const auto devices = [&](const catalogue::Capability& each) {
    return std::to_string(
        std::ranges::count(catalogue.devices, each.version, &catalogue::CatalogueDevice::compute_capability));
  };
  std::string notes;
  for (const catalogue::Capability& each : capabilities)
    if (!each.notes.empty() && !each.notes.starts_with("historical")) notes += each.version + ": " + each.notes + "\n";
  return figure_table("gpus-capabilities", "capabilities", json_of(capabilities), {},
                      {.last = {own_column("last CUDA", capabilities, last_cuda, "r"),
                                own_column("devices", capabilities, devices, "r1")}}) +
         (notes.empty() ? "" : "\n" + notes);
}

std::string capabilities_csv(std::span<const catalogue::Capability> capabilities) {
  return csv_table(
      "version architecture chips first_cuda last_cuda threads blocks warps registers registers_per_thread "
      "shared_bytes "
      "shared_bytes_per_block fp32_lanes fp64_lanes tensor_precisions notes source",
      json_of(capabilities));
}

}  // namespace ridge::cli
