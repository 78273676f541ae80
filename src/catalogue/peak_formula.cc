#include "catalogue/peak_formula.h"

#include <array>
#include <cmath>

#include "catalogue/data.h"
#include "catalogue/table.h"

namespace ridge::catalogue {
namespace {

constexpr double kTeraflops = 1e12;
Result<std::vector<TensorRate>> tensor_rates() {
  constexpr std::array<std::string_view, 5> kColumns = {"generation", "arithmetic", "class",
                                                        "fma_per_multiprocessor_clock", "source"};
  RIDGE_ASSIGN(Table table, Table::read(data("tensor_rates"), "tensor_rates", kColumns));
  std::vector<TensorRate> rates;
  for (size_t i = 0; i < table.size(); ++i) {
    TableRow row = table.row(i);
    RIDGE_ASSIGN(Precision arithmetic, peak_precision_from_name(row.text("arithmetic")));
    rates.push_back({row.text("generation"), arithmetic, row.text("class"),
                     row.number("fma_per_multiprocessor_clock").value_or(0), row.text("source")});
    RIDGE_TRY(row.status());
  }
  return rates;
}

// "fp16_tflops_dense", "int8_tops_dense", "fp32_tflops" → "fp16", "int8", "fp32"
std::string without_unit(const std::string& metric) {
  size_t unit = std::min(metric.find("_tflops"), metric.find("_tops"));
  return metric.substr(0, unit);
}

Result<std::vector<PublishedPeak>> published_peaks() {
  constexpr std::array<std::string_view, 4> kColumns = {"name", "metric", "published_value", "source"};
  RIDGE_ASSIGN(Table table, Table::read(data("published_peaks"), "published_peaks", kColumns));
  std::vector<PublishedPeak> peaks;
  for (size_t i = 0; i < table.size(); ++i) {
    TableRow row = table.row(i);
    RIDGE_ASSIGN(Precision arithmetic, peak_precision_from_name(without_unit(row.text("metric"))));
    peaks.push_back(
        {row.text("name"), arithmetic, row.number("published_value", kTeraflops).value_or(0), row.text("source")});
    RIDGE_TRY(row.status());
  }
  return peaks;
}

Result<std::vector<Correction>> corrections() {
  constexpr std::array<std::string_view, 6> kColumns = {"device", "quantity", "claim", "right", "reason", "source"};
  RIDGE_ASSIGN(Table table, Table::read(data("corrections"), "corrections", kColumns));
  std::vector<Correction> all;
  for (size_t i = 0; i < table.size(); ++i) {
    TableRow row = table.row(i);
    all.push_back({row.text("device"), row.text("quantity"), row.text("claim"), row.text("right"), row.text("reason"),
                   row.text("source")});
  }
  return all;
}

std::optional<PeakFormula> product(Precision arithmetic, std::optional<int> units, std::string unit,
                                   std::optional<double> flops_per_unit_clock, std::optional<double> clock_hz,
                                   std::string source) {
  if (!units || !flops_per_unit_clock || !clock_hz) return {};
  return PeakFormula{.arithmetic = arithmetic,
                     .units = *units,
                     .unit = std::move(unit),
                     .flops_per_unit_clock = *flops_per_unit_clock,
                     .clock_hz = *clock_hz,
                     .flops_per_s = *units * *flops_per_unit_clock * *clock_hz,
                     .source = std::move(source)};
}

// Rates hold for chips with tensor cores only: TU116 and TU117 are 7.5 without. AMD and Intel have no count.
std::string generation_of(const CatalogueDevice& device) {
  if (device.vendor != "NVIDIA") return device.architecture;
  return device.tensor_cores ? device.compute_capability : "";
}

bool applies(const TensorRate& rate, const CatalogueDevice& device, Precision arithmetic) {
  if (rate.generation != generation_of(device) || rate.arithmetic != arithmetic) return false;
  bool geforce = device.family.starts_with("GeForce");
  return rate.product_class == "any" || rate.product_class == (geforce ? "geforce" : "professional");
}

}  // namespace

Result<PeakTables> peak_tables() {
  PeakTables tables;
  RIDGE_ASSIGN(tables.rates, tensor_rates());
  RIDGE_ASSIGN(tables.published, published_peaks());
  RIDGE_ASSIGN(tables.corrections, corrections());
  return tables;
}

std::optional<PeakFormula> formula(const CatalogueDevice& device, Precision arithmetic,
                                   std::span<const TensorRate> rates) {
  if (arithmetic == Precision::kFp32)
    return product(arithmetic, device.cores, "core", device.flops_per_core_clock, device.boost_hz, device.source);
  for (const TensorRate& rate : rates)
    if (applies(rate, device, arithmetic))
      return product(arithmetic, device.multiprocessors,
                     device.vendor == "Intel" ? "Xe core"
                     : device.vendor == "AMD" ? "CU"
                                              : "SM",
                     2 * rate.fma_per_clock, device.boost_hz, rate.source);
  return {};
}

double difference_percent(double value, double reference) { return 100 * (value / reference - 1); }

std::vector<PeakRow> peak_rows(const CatalogueDevice& device, const PeakTables& tables) {
  std::vector<PeakRow> rows;
  for (const auto& [arithmetic, name] : names_of(Precision())) {
    PeakRow row;
    row.arithmetic = arithmetic;
    row.listed = peak(device, arithmetic);
    if (arithmetic != Precision::kFp64)
      row.formula = formula(device, arithmetic, tables.rates);  // of other units than listed
    for (const PublishedPeak& published : tables.published)
      if (published.device == device.name && published.arithmetic == arithmetic) row.published.push_back(published);
    if (!row.listed && !row.formula && row.published.empty()) continue;
    if (row.listed && row.formula)
      row.formula_percent = difference_percent(row.listed->flops_per_s, row.formula->flops_per_s);
    for (const PublishedPeak& published : row.published) {
      if (!row.listed) break;
      double percent = difference_percent(row.listed->flops_per_s, published.flops_per_s);
      if (std::fabs(percent) >= std::fabs(row.published_percent.value_or(0))) row.published_percent = percent;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Correction> corrections_of(const CatalogueDevice& device, const PeakTables& tables) {
  std::vector<Correction> found;
  for (const Correction& correction : tables.corrections)
    if (correction.device == device.name) found.push_back(correction);
  return found;
}

}  // namespace ridge::catalogue
