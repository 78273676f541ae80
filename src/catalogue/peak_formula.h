// The derivation of peaks: units × operations per unit and clock × clock, beside published figures and the difference
// between them.
//
// FP32: cores × 2 × boost clock (RTX 4090: 16384 × 2 × 2.52 GHz = 82.6 TFLOP/s; handbook, section 2). Tensor cores: SMs
// × multiply-adds per SM and clock × 2 × boost clock, the second from data/tensor_rates.csv, where every row names its
// reference (RTX 4090, FP16: 128 × 512 × 2 × 2.52 GHz = 330.3 TFLOP/s). Values; immutable once read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/figure.h"
#include "base/result.h"
#include "catalogue/catalogue.h"

namespace ridge::catalogue {

// Dense multiply-adds that the tensor cores of one multiprocessor begin per clock.
struct TensorRate {
  std::string generation;  // compute capability of NVIDIA, architecture of others
  Precision arithmetic = Precision::kFp16;
  std::string product_class;  // "any", "geforce", "professional": GeForce is slower with FP32 accumulators
  double fma_per_clock = 0;
  std::string source;
};

struct PublishedPeak {
  std::string device;
  Precision arithmetic = Precision::kFp32;
  double flops_per_s = 0;
  std::string source;
};
void visit_fields(auto& visit, Is<PublishedPeak> auto& peak) {
  visit("flops_per_s", peak.flops_per_s, Figure().in("FLOP/s"));
  visit("source", peak.source);
}

// A wrong figure that guides repeat, and the right one.
struct Correction {
  std::string device, quantity, claim, right, reason, source;
};
void visit_fields(auto& visit, Is<Correction> auto& correction) {
  visit("quantity", correction.quantity);
  visit("claim", correction.claim);
  visit("right", correction.right);
  visit("reason", correction.reason);
  visit("source", correction.source);
}

// The data that explain peaks: the tables tensor_rates, published_peaks (independent figures, not those of gpus) and
// corrections.
struct PeakTables {
  std::vector<TensorRate> rates;
  std::vector<PublishedPeak> published;
  std::vector<Correction> corrections;
};
Result<PeakTables> peak_tables();

struct PeakFormula {
  Precision arithmetic = Precision::kFp32;
  int units = 0;
  std::string unit;                 // "core", "SM", "Xe core"
  double flops_per_unit_clock = 0;  // 1 multiply-add = 2
  double clock_hz = 0;              // boost
  double flops_per_s = 0;           // the product
  std::string source;               // of flops_per_unit_clock
};
void visit_fields(auto& visit, Is<PeakFormula> auto& formula) {
  visit("units", formula.units);
  visit("unit", formula.unit);
  visit("flops_per_unit_clock", formula.flops_per_unit_clock);
  visit("clock_hz", formula.clock_hz, means("boost").in("Hz"));
  visit("flops_per_s", formula.flops_per_s, means("the product").column("by formula").in("FLOP/s").leaves(4));
  visit("source", formula.source, means("of flops_per_unit_clock"));
}

// Absent if a factor has no source or the device has no such units. FP64: of tensor cores, of which the catalogue has
// no figure; it lists that of the plain lanes.
std::optional<PeakFormula> formula(const CatalogueDevice& device, Precision arithmetic,
                                   std::span<const TensorRate> rates);

struct PeakRow {
  Precision arithmetic = Precision::kFp32;
  std::optional<CataloguePeak> listed;  // the catalogue's figure, which ridge computes with
  std::optional<PeakFormula> formula;
  std::vector<PublishedPeak> published;     // by others
  std::optional<double> formula_percent;    // listed against formula: + is above
  std::optional<double> published_percent;  // listed against the published figure that is farthest from it
};
void visit_fields(auto& visit, Is<PeakRow> auto& row) {
  visit("arithmetic", row.arithmetic, Figure().column("arithmetic"));
  visit.derived("flops_per_s", Derived{row.listed ? std::optional(row.listed->flops_per_s) : std::nullopt,
                                       means("as listed; null: no source").column("listed").in("FLOP/s")});
  visit.derived("origin", Derived{row.listed ? std::optional(row.listed->origin) : std::nullopt,
                                  Figure().column("origin").leaves(5)});
  visit("formula", row.formula, Figure().groups_columns());
  visit("formula_percent", row.formula_percent,
        means("how far the listed figure is above the formula's").column("above formula").leaves(2));
  visit("published", row.published, means("figures of others"));
  visit("published_percent", row.published_percent,
        means("how far it is above the published figure that is farthest from it").column("above published").leaves(2));
  visit.derived("ridge_point", Derived{row.listed ? row.listed->ridge_point : std::nullopt,
                                       Figure().column("ridge point").in("FLOP/byte").leaves(1)});
}

// One row per arithmetic with any known figure.
std::vector<PeakRow> peak_rows(const CatalogueDevice& device, const PeakTables& tables);

// 100 · (value / reference − 1)
double difference_percent(double value, double reference);

std::vector<Correction> corrections_of(const CatalogueDevice& device, const PeakTables& tables);

}  // namespace ridge::catalogue
