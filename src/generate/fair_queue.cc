#include "generate/fair_queue.h"

#include <algorithm>
#include <new>
#include <utility>

namespace ridge::generate {

void FairQueue::Work::add(const Sequence& sequence) {
  const auto left = static_cast<double>(sequence.pending());
  sequences += 1;
  tokens += left;
  pairs += left * (static_cast<double>(sequence.computed) + left / 2);
}

void FairQueue::Work::remove(const Sequence& sequence) {
  Work other;
  other.add(sequence);
  sequences -= other.sequences;
  tokens -= other.tokens;
  pairs -= other.pairs;
}

Share& FairQueue::enter(const std::string& key) {
  auto found = shares_.find(key);
  if (found == shares_.end()) found = shares_.emplace(key, std::make_unique<Share>(Share{key, ++keys_})).first;
  Share& share = *found->second;
  ++share.sequences;
  if (shares_.size() > forget_at_) forget_idle();
  return share;
}

void FairQueue::leave(Share& share) { --share.sequences; }

// A key that has used no more than the virtual time would start there anyway.
void FairQueue::forget_idle() {
  std::erase_if(shares_, [&](const auto& entry) {
    return entry.second->sequences == 0 && entry.second->used_s <= virtual_time_;
  });
  forget_at_ = std::max<size_t>(1024, 2 * shares_.size());
}

void FairQueue::add(Sequence& sequence) {
  sequence.queued = true;
  ++size_;
  work_.add(sequence);
  try {
    list(sequence);
  } catch (const std::bad_alloc&) {
    remove(sequence);
    throw;
  }
}

void FairQueue::list(Sequence& sequence) {
  if (sequence.request.deadline && !sequence.admitted) by_deadline_.insert(&sequence);
  if (sequence.latest_start) {
    urgent_.insert(&sequence);
    return;
  }
  Share& share = *sequence.share;
  if (share.waiting.empty()) {
    share.used_s = std::max(share.used_s, virtual_time_);
    by_used_.insert(&share);
  }
  share.waiting.insert(&sequence);
  share.by_length.insert(&sequence);
}

void FairQueue::remove(Sequence& sequence) {
  if (!std::exchange(sequence.queued, false)) return;
  --size_;
  work_.remove(sequence);
  if (sequence.request.deadline && !sequence.admitted) by_deadline_.erase(&sequence);
  if (sequence.latest_start) {
    urgent_.erase(&sequence);
    return;
  }
  Share& share = *sequence.share;
  share.waiting.erase(&sequence);
  share.by_length.erase(&sequence);
  if (share.waiting.empty()) by_used_.erase(&share);
}

Sequence* FairQueue::first() const {
  if (!urgent_.empty()) return *urgent_.begin();
  return by_used_.empty() ? nullptr : *(*by_used_.begin())->waiting.begin();
}

Sequence* FairQueue::shortest() const { return by_used_.empty() ? nullptr : *(*by_used_.begin())->by_length.begin(); }

bool FairQueue::before(const Sequence& a, const Sequence& b) const {
  if (a.latest_start.has_value() != b.latest_start.has_value()) return a.latest_start.has_value();
  if (a.latest_start) return LatestStart{}(&a, &b);
  return a.share != b.share ? LeastUsed{}(a.share, b.share) : DueFirst{}(&a, &b);
}

Sequence* FairQueue::expired(Nanoseconds now) const {
  if (by_deadline_.empty() || *(*by_deadline_.begin())->request.deadline > now) return nullptr;
  return *by_deadline_.begin();
}

void FairQueue::charge(Share& share, double seconds, bool begins) {
  auto listed = by_used_.extract(&share);
  if (begins) virtual_time_ = std::max(virtual_time_, share.used_s);
  share.used_s += seconds;
  if (listed) by_used_.insert(std::move(listed));
}

FairQueue::Work FairQueue::work_before(Nanoseconds latest_start) const {
  Work work;
  for (const Sequence* sequence : urgent_) {
    if (*sequence->latest_start > latest_start) break;
    work.add(*sequence);
  }
  return work;
}

}  // namespace ridge::generate
