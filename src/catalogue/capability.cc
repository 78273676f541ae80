#include "catalogue/capability.h"

#include <fmt/format.h>

#include <array>

#include "base/proc_text.h"
#include "catalogue/data.h"
#include "catalogue/table.h"

namespace ridge::catalogue {
namespace {

constexpr double kKib = 1024;
constexpr std::array<std::string_view, 22> kCapabilityColumns = {"cc",
                                                                 "architecture",
                                                                 "chips",
                                                                 "min_cuda",
                                                                 "last_cuda",
                                                                 "max_threads_per_sm",
                                                                 "regs_per_sm",
                                                                 "max_blocks_per_sm",
                                                                 "notes",
                                                                 "max_regs_per_thread",
                                                                 "smem_per_sm_kib",
                                                                 "smem_per_block_optin_kib",
                                                                 "source",
                                                                 "max_warps_per_sm",
                                                                 "fp32_lanes_per_sm",
                                                                 "fp64_lanes_per_sm",
                                                                 "regs_per_block",
                                                                 "reg_unit_per_warp",
                                                                 "sub_partitions",
                                                                 "smem_unit_bytes",
                                                                 "smem_reserved_bytes",
                                                                 "tensor_core_precisions"};

Capability capability_of(const TableRow& row) {
  Capability capability;
  capability.version = row.text("cc");
  capability.architecture = row.text("architecture");
  capability.chips = split_words(row.text("chips"));
  capability.first_cuda = row.text("min_cuda");
  capability.last_cuda = row.text("last_cuda");
  capability.threads = row.whole("max_threads_per_sm");
  capability.blocks = row.whole("max_blocks_per_sm");
  capability.warps = row.whole("max_warps_per_sm");
  capability.registers = row.whole("regs_per_sm");
  capability.registers_per_thread = row.whole("max_regs_per_thread");
  capability.shared_bytes = row.number("smem_per_sm_kib", kKib);
  capability.shared_bytes_per_block = row.number("smem_per_block_optin_kib", kKib);
  capability.fp32_lanes = row.whole("fp32_lanes_per_sm");
  capability.fp64_lanes = row.whole("fp64_lanes_per_sm");
  capability.registers_per_block = row.whole("regs_per_block");
  capability.register_unit = row.whole("reg_unit_per_warp");
  capability.sub_partitions = row.whole("sub_partitions");
  capability.shared_unit_bytes = row.number("smem_unit_bytes");
  capability.shared_reserved_bytes = row.number("smem_reserved_bytes");
  capability.tensor_precisions = split_words(row.text("tensor_core_precisions"));
  capability.notes = row.text("notes");
  capability.source = row.text("source");
  return capability;
}

std::string digits(std::string_view version) {
  std::string result;
  for (char c : version)
    if (c >= '0' && c <= '9') result += c;
  return result;
}

}  // namespace

Result<std::vector<Capability>> capabilities() {
  RIDGE_ASSIGN(Table table, Table::read(data("compute_capability"), "compute_capability", kCapabilityColumns));
  std::vector<Capability> all;
  for (size_t i = 0; i < table.size(); ++i) {
    TableRow row = table.row(i);
    all.push_back(capability_of(row));
    RIDGE_TRY(row.status());
  }
  return all;
}

Result<Capability> find_capability(std::span<const Capability> all, std::string_view version) {
  std::string known;
  for (const Capability& capability : all) {
    if (capability.version == version) return capability;
    known += (known.empty() ? "" : ", ") + capability.version;
  }
  bool dotted = version.find('.') != std::string_view::npos;
  for (const Capability& capability : all)
    if (!dotted && !version.empty() && digits(capability.version) == digits(version)) return capability;
  return Error{Code::kInvalid, fmt::format("unknown compute capability '{}'; known: {}", version, known)};
}

}  // namespace ridge::catalogue
