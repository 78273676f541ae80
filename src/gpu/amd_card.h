// What both of AMD's management libraries tell in the same way.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/amd_metrics.h"
#include "gpu/card.h"
#include "gpu/card_reader.h"

namespace ridge::gpu {

template <typename Library, typename Signature>
AmdMetrics look_at_metrics(CardReader<Library>& reader, const LibraryFunction<Signature>& function, Error& error) {
  std::vector<unsigned char> buffer(kAmdMetricsBytes, 0xFF);
  reader.ask(error, function, static_cast<void*>(buffer.data()));
  return metrics_from(buffer);
}

template <typename Library, typename Handle, typename Page>
void read_retired_pages(CardReader<Library>& reader,
                        const LibraryFunction<uint32_t(Handle, uint32_t*, Page*)>& function, Card& card) {
  Error error;
  uint32_t count = 0;
  bool told = reader.ask(error, function, &count, static_cast<Page*>(nullptr));
  std::vector<Page> pages(told ? count : 0);
  if (!pages.empty()) {
    told = reader.ask(error, function, &count, pages.data());
    pages.resize(std::min<size_t>(count, pages.size()));
  }
  if (!told) {
    card.rows_remapped = error;
    card.row_remap_pending = card.row_remap_failed = error;
    return;
  }
  auto any = [&](uint32_t status) {
    return std::any_of(pages.begin(), pages.end(), [&](const Page& page) { return page.status == status; });
  };
  card.rows_remapped = static_cast<int64_t>(pages.size());
  card.row_remap_pending = any(Page::kPending);
  card.row_remap_failed = any(Page::kUnreservable);
}

template <typename Library, typename Signature>
Reading<int64_t> energy_mj(CardReader<Library>& reader, const LibraryFunction<Signature>& function) {
  Error error;
  uint64_t count = 0, time = 0;
  float resolution_uj = 0;
  if (!reader.ask(error, function, &count, &resolution_uj, &time)) return error;
  return static_cast<int64_t>(static_cast<double>(count) * static_cast<double>(resolution_uj) / 1000);
}

// Readings of which neither library has a notion; `library` counts errors instead of telling the memory's health, and
// none of those before the start.
inline void mark_untold(const std::string& library, Card& card) {
  const Error foreign{Code::kUnsupported, "a notion of NVIDIA's"};
  card.compute_capability = foreign;
  const Error untold{Code::kUnsupported, library + " does not tell"};
  card.architecture = untold;
  card.cores = card.memory_bus_bits = untold;
  card.persistence = card.mig = foreign;
  card.compute_mode = card.performance_state = card.mig_instances = card.peer_links = foreign;
  card.memory_health = Error{Code::kUnsupported, library + " counts errors instead"};
  card.ecc_corrected_ever = card.ecc_uncorrected_ever =
      Error{Code::kUnsupported, library + " counts since the start only"};
}

// A lost card still has its name and address: it is gone when nothing that changes with time is told.
template <typename Library>
std::string failure_of(const Card& card, const CardReader<Library>& reader) {
  bool alive = card.temperature_c || card.power_mw || card.memory_used_bytes || card.utilization_percent;
  return alive ? "" : reader.failure();
}

}  // namespace ridge::gpu
