#include "catalogue/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "catalogue/data.h"
#include "catalogue/table.h"

namespace ridge::catalogue {
namespace {

constexpr double kTera = 1e12, kGiga = 1e9, kMega = 1e6;
constexpr double kGibibyte = 1024.0 * 1024 * 1024, kMebibyte = 1024.0 * 1024;

// [10^12 operations/s]; the names of these precisions are also words of the column derived_fields.
constexpr std::pair<Precision, std::string_view> kRates[] = {{Precision::kFp64, "fp64_tflops"},
                                                             {Precision::kFp32, "fp32_tflops"},
                                                             {Precision::kTf32, "tf32_tflops_dense"},
                                                             {Precision::kFp16, "fp16_tflops_dense"},
                                                             {Precision::kFp16Fp32, "fp16_fp32acc_tflops_dense"},
                                                             {Precision::kBf16, "bf16_tflops_dense"},
                                                             {Precision::kFp8, "fp8_tflops_dense"},
                                                             {Precision::kInt8, "int8_tops_dense"},
                                                             {Precision::kFp4, "fp4_tflops_dense"}};

bool names_word(std::string_view words, std::string_view wanted) {
  while (!words.empty()) {
    size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == wanted) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

std::vector<CataloguePeak> peaks_of(const TableRow& row, const std::optional<double>& bytes_per_s) {
  std::vector<CataloguePeak> peaks;
  const std::string& derived = row.text("derived_fields");
  for (const auto& [precision, column] : kRates)
    if (auto value = row.number(column, kTera))
      peaks.push_back({precision, *value,
                       names_word(derived, precision_name(precision)) ? Origin::kDerived : Origin::kDatasheet,
                       bytes_per_s ? std::optional(*value / *bytes_per_s) : std::nullopt});
  return peaks;
}

CatalogueDevice device_of(const TableRow& row) {
  CatalogueDevice device;
  device.vendor = row.text("vendor");
  device.name = row.text("name");
  device.family = row.text("family");
  device.architecture = row.text("architecture");
  device.compute_capability = row.text("compute_capability");
  device.year = row.whole("release_year");
  device.multiprocessors = row.whole("sm_count");
  device.cores = row.whole("cuda_cores");
  device.flops_per_core_clock = row.number("fp32_flops_per_core_clock");
  device.tensor_cores = row.whole("tensor_cores");
  device.boost_hz = row.number("boost_mhz", kMega);
  device.memory_bytes = row.number("mem_gib", kGibibyte);
  device.memory_type = row.text("mem_type");
  device.bytes_per_s = row.number("mem_bw_gbs", kGiga);
  device.l2_bytes = row.number("l2_mib", kMebibyte);
  device.peaks = peaks_of(row, device.bytes_per_s);
  device.power_w = row.number("tdp_w");
  device.gpus_on_board = row.whole("gpus_per_board").value_or(1);
  device.interconnect = row.text("interconnect");
  device.interconnect_bytes_per_s = row.number("interconnect_gbs", kGiga);
  device.pcie = row.text("pcie");
  device.form_factor = row.text("form_factor");
  device.mig_instances = row.whole("mig_slices");
  device.notes = row.text("notes");
  device.source = row.text("source");
  return device;
}

std::vector<std::string_view> known_columns() {
  std::vector<std::string_view> columns = {"vendor",         "name",
                                           "family",         "architecture",
                                           "release_year",   "compute_capability",
                                           "sm_count",       "cuda_cores",
                                           "tensor_cores",   "fp32_flops_per_core_clock",
                                           "boost_mhz",      "mem_gib",
                                           "mem_type",       "mem_bw_gbs",
                                           "l2_mib",         "tdp_w",
                                           "gpus_per_board", "interconnect",
                                           "pcie",           "interconnect_gbs",
                                           "form_factor",    "mig_slices",
                                           "derived_fields", "notes",
                                           "source"};
  for (const auto& [precision, column] : kRates) columns.push_back(column);
  return columns;
}

Status check(const CatalogueDevice& device) {
  auto wrong = [&](std::string_view what) {
    return Error{Code::kInvalid, fmt::format("table gpus: device '{}' has no {}", device.name, what)};
  };
  if (device.name.empty()) return wrong("name");
  if (device.vendor.empty()) return wrong("vendor");
  if (device.source.empty()) return wrong("source");
  return {};
}

}  // namespace

Result<std::vector<CatalogueDevice>> catalogue() { return catalogue_from(data("gpus")); }

Result<std::vector<CatalogueDevice>> catalogue_from(std::string_view csv) {
  RIDGE_ASSIGN(Table table, Table::read(csv, "gpus", known_columns()));
  std::vector<CatalogueDevice> devices;
  for (size_t i = 0; i < table.size(); ++i) {
    TableRow row = table.row(i);
    devices.push_back(device_of(row));
    RIDGE_TRY(row.status());
    RIDGE_TRY(check(devices.back()));
  }
  return devices;
}

std::optional<CataloguePeak> peak(const CatalogueDevice& device, Precision arithmetic) {
  for (const CataloguePeak& peak : device.peaks)
    if (peak.arithmetic == arithmetic) return peak;
  return {};
}

std::optional<double> ridge_point(const CatalogueDevice& device, Precision arithmetic) {
  const std::optional<CataloguePeak> rate = peak(device, arithmetic);
  return rate ? rate->ridge_point : std::nullopt;
}

std::optional<double> power_per_gpu_w(const CatalogueDevice& device) {
  if (!device.power_w) return {};
  return *device.power_w / device.gpus_on_board;
}

}  // namespace ridge::catalogue
