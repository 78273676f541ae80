// Catalogue: published data of devices that are not in this machine. Table data/gpus.csv, one row per device,
// every row with its source. A figure without a source is absent, never zero and never a guess.
//
// For the machine at hand see machine::Machine, which is measured. Immutable once read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/figure.h"
#include "base/result.h"
#include "base/units.h"

namespace ridge::catalogue {

// A dense rate: figures that count structural sparsity are halved or left out.
struct CataloguePeak {
  Precision arithmetic = Precision::kFp32;
  double flops_per_s = 0;              // 1 multiply-add = 2, also for integers
  Origin origin = Origin::kDatasheet;  // kDerived: computed in the table as units × clock × operations (peak_formula.h)
  std::optional<double> ridge_point = {};  // [FLOP/byte] from which on the device is compute-bound
};
void visit_fields(auto& visit, Is<CataloguePeak> auto& peak) {
  visit("arithmetic", peak.arithmetic);
  visit("flops_per_s", peak.flops_per_s, means("1 multiply-add = 2, also for integers").in("FLOP/s"));
  visit("origin", peak.origin, means("of a formula (derived) or the vendor (datasheet)"));
  visit("ridge_point", peak.ridge_point, means("from which on the device is compute-bound").in("FLOP/byte"));
}

struct CatalogueDevice {
  std::string vendor;                          // "NVIDIA"
  std::string name;                            // "GeForce RTX 4090": unique
  std::string family;                          // "GeForce RTX 40", "Data Center", …
  std::string architecture;                    // "Ada Lovelace"
  std::string compute_capability;              // "8.9"; of AMD the gfx id; empty: none, or not sourced
  std::optional<int> year;                     // of release
  std::optional<int> multiprocessors;          // SMs (NVIDIA), compute units (AMD), Xe cores (Intel), cores (Apple)
  std::optional<int> cores;                    // FP32 lanes
  std::optional<double> flops_per_core_clock;  // FP32: 2; 4 where one lane issues two multiply-adds (RDNA 3, CDNA 3)
  std::optional<int> tensor_cores;
  std::optional<double> boost_hz;
  std::optional<double> memory_bytes;              // as marketed: the GiB on the box
  std::string memory_type;                         // "GDDR6X"
  std::optional<double> bytes_per_s;               // memory bandwidth
  std::optional<double> l2_bytes;                  // last level on the compute die
  std::vector<CataloguePeak> peaks;                // in the order of Precision
  std::optional<double> power_w;                   // TDP of the board
  int gpus_on_board = 1;                           // the row is one of them; power_w is of the board
  std::string interconnect;                        // "NVLink 4"
  std::optional<double> interconnect_bytes_per_s;  // both directions together
  std::string pcie;                                // "4.0 x16"
  std::string form_factor;
  std::optional<int> mig_instances;  // at most
  std::string notes;                 // conflicts between sources, and corrections
  std::string source;
};
void visit_fields(auto& visit, Is<CatalogueDevice> auto& device) {
  visit("vendor", device.vendor);
  visit("name", device.name, Figure().column("device"));
  visit("family", device.family);
  visit("architecture", device.architecture, Figure().column("architecture").leaves(1));
  visit.or_null("compute_capability", device.compute_capability,
                means("of AMD the gfx id").column("capability").leaves(1));
  visit("year", device.year, means("of release").column("year").leaves(4));
  visit("multiprocessors", device.multiprocessors,
        means("SMs (NVIDIA), compute units (AMD), Xe cores (Intel), GPU cores (Apple)"));
  visit("cores", device.cores, means("FP32 lanes"));
  visit("flops_per_core_clock", device.flops_per_core_clock, means("of FP32"));
  visit("tensor_cores", device.tensor_cores);
  visit("boost_hz", device.boost_hz, Figure().in("Hz"));
  visit("memory_bytes", device.memory_bytes, means("as marketed (GiB on the box)").column("memory"));
  visit.or_null("memory_type", device.memory_type);
  visit("bytes_per_s", device.bytes_per_s, means("of the memory").column("bandwidth").in("B/s").leaves(5));
  visit("l2_bytes", device.l2_bytes, means("last level on the compute die"));
  visit("peaks", device.peaks, means("dense"));
  visit("power_w", device.power_w,
        means("of the board, which may carry several of these GPUs").column("power").in("W").leaves(3));
  visit("gpus_on_board", device.gpus_on_board);
  visit.or_null("interconnect", device.interconnect);
  visit("interconnect_bytes_per_s", device.interconnect_bytes_per_s, means("sum of both directions").in("B/s"));
  visit.or_null("pcie", device.pcie);
  visit.or_null("form_factor", device.form_factor);
  visit("mig_instances", device.mig_instances, means("at most"));
  visit.or_null("notes", device.notes, means("conflicts between sources, and corrections"));
  visit("source", device.source);
}

// The embedded table; and the same from a text, for tests.
Result<std::vector<CatalogueDevice>> catalogue();
Result<std::vector<CatalogueDevice>> catalogue_from(std::string_view csv);

std::optional<CataloguePeak> peak(const CatalogueDevice& device, Precision arithmetic);

// [FLOP/byte] at which the device turns from memory- to compute-bound.
std::optional<double> ridge_point(const CatalogueDevice& device, Precision arithmetic);

// Power [W] of one GPU: the board's, shared among the GPUs on it.
std::optional<double> power_per_gpu_w(const CatalogueDevice& device);

// The devices that `name` can mean, by the first of these rules with a match: the whole name; the name without a part
// in parentheses; without brands ("4090", "RTX 4070", "T4"); every word of `name` occurs ("A100 80GB"); it is a part of
// the name. Case, blanks and punctuation do not count.
std::vector<const CatalogueDevice*> match_devices(std::span<const CatalogueDevice> devices, std::string_view name);

// Reads "NVIDIA H100 80GB HBM3 MIG 1g.10gb", as drivers name a slice: the GPU with the slice's share of its rates and
// memory, derived; other figures are absent. Empty: not such a name, or not one GPU that can be divided.
std::optional<CatalogueDevice> mig_slice(std::span<const CatalogueDevice> devices, std::string_view name);

// The single match, or a slice of it. Errors: several match (the message names them); none does (the nearest names).
Result<CatalogueDevice> find_device(std::span<const CatalogueDevice> devices, std::string_view name);

// A filter for devices; empty or absent members match all. Text matches as a substring, in any case.
struct DeviceFilter {
  std::string vendor = {}, family = {}, architecture = {};
  std::string compute_capability = {};      // the whole: "8.9"
  std::optional<double> memory_bytes = {};  // at least
  std::optional<int> year = {};             // or later
};
bool accepts(const DeviceFilter& filter, const CatalogueDevice& device);

}  // namespace ridge::catalogue
