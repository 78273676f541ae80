#include "front/http/io_thread.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <new>
#include <thread>
#include <utility>

#include "base/log.h"
#include "front/tls.h"

namespace ridge::front::http {
namespace {

// An id names a slot and the generation of its tenant: a late answer must not reach the next tenant.
uint64_t make_id(size_t slot, uint32_t generation) { return uint64_t{generation} << 32 | slot; }

// Interval between checks of deadlines and waiting clients: a quarter of the shortest deadline, at most 0.25 s.
std::chrono::milliseconds tick_period(const ServerOptions& options) {
  std::chrono::milliseconds shortest =
      std::min({options.idle_timeout, options.head_timeout, options.stall_timeout, options.drain_timeout});
  return std::clamp(shortest / 4, std::chrono::milliseconds(5), std::chrono::milliseconds(250));
}

constexpr size_t kScratch = 256 * 1024;  // [bytes]
constexpr size_t kFlushed = 16;          // answers that leave together: a client works on them while others are made
constexpr std::chrono::seconds kTidyPeriod{5};
constexpr std::chrono::milliseconds kDropPeriod{20};  // how soon the request of a call that its client ended is dropped

}  // namespace

void Warnings::once(std::atomic<bool>& warned, const std::string& what) const {
  if (!warned.exchange(true)) log::warning("{}: {}", server, what);
}

void Warnings::failed_handshake(const std::string& problem) {
  if (!problem.empty()) once(handshake, "the TLS handshake with a client failed: " + problem + "; more are not logged");
}

// ---- ConnectionCount

const char* ConnectionCount::take(const Address& address) {
  MutexLock lock(mutex_);
  if (count_ >= limit_) return "--http-max-connections";
  if (limit_per_address_ > 0) {
    int& of_address = by_address_[address];
    if (of_address >= limit_per_address_) return "--http-max-connections-per-address";
    ++of_address;
  }
  ++count_;
  return nullptr;
}

void ConnectionCount::give_back(const Address& address) {
  MutexLock lock(mutex_);
  if (limit_per_address_ > 0)
    if (const auto row = by_address_.find(address); --row->second == 0) by_address_.erase(row);
  if (--count_ == 0) changed_.notify_all();
}

bool ConnectionCount::wait_for_none(Clock& clock, Nanoseconds patience) {
  const TimePoint end = clock.now() + patience;
  MutexLock lock(mutex_);
  while (count_ > 0 && clock.now() < end) clock.wait_until(changed_, lock, end);
  return count_ == 0;
}

// ---- IoThread

IoThread::IoThread(const ServerOptions& options, Port& port, ConnectionCount& count, Warnings& warnings, size_t index)
    : options_(options),
      port_(port),
      count_(count),
      warnings_(warnings),
      index_(index),
      completions_(std::make_shared<CompletionQueue>()),
      bodies_(options.memory),
      ticker_(completions_->context),
      dropper_(completions_->context),
      thread_([this] { run(); }) {}

IoThread::~IoThread() {
  boost::asio::post(completions_->context, [this] { close_all(); });
  thread_.join();
}

// Work outside a connection that lacks memory is done by the next tick.
void IoThread::run() {
  completions_->start(*this);
  for (bool over = false; !over;) try {
      if (!ticks_ && !closed_) tick();
      completions_->context.run();  // ends when close_all() has cancelled all pending work
      over = true;
    } catch (const std::bad_alloc&) {
      std::this_thread::yield();
    }
  completions_->stop();
}

void IoThread::tick() {
  ticker_.expires_after(tick_period(options_));
  ticker_.async_wait([this](const boost::system::error_code& ec) {
    ticks_ = false;
    if (!ec && !closed_) tick();  // a wait that ended before its cancellation returns no error
  });
  ticks_ = true;
  const TimePoint time = now();
  for_each_connection([&](Connection& connection) { connection.enforce_deadline(time); });
  if (completions_->take_missed()) for_each_connection([](Connection& connection) { connection.continue_stream(); });
  port_.end_round(index_);
  run_completions();
  if (std::exchange(client_left_, false)) port_.clients_left();
  if (on_tick_) on_tick_();
  if (time < tidy_at_) return;
  bodies_.tidy();
  port_.tidy();
  tidy_at_ = time + kTidyPeriod;
}

void IoThread::adopt(boost::asio::generic::stream_protocol::socket socket, const ConnectionCount::Address& address) {
  if (draining()) return count_.give_back(address);
  std::shared_ptr<Connection> connection;
  try {
    if (free_slots_.empty()) {
      free_slots_.reserve(slots_.size() + 1);  // forget() needs no memory
      slots_.emplace_back();
      free_slots_.push_back(static_cast<uint32_t>(slots_.size() - 1));
    }
    const std::shared_ptr<const TlsMaterial> tls = options_.tls ? options_.tls->current() : nullptr;
    connection = port_.connect(*this, Stream(std::move(socket), tls ? tls->context.get() : nullptr, port_.protocols()),
                               make_id(free_slots_.back(), slots_[free_slots_.back()].generation));
  } catch (const std::bad_alloc&) {
    return count_.give_back(address);
  }
  Slot& slot = slots_[free_slots_.back()];
  free_slots_.pop_back();
  slot.address = address;
  slot.connection = connection;
  guarded(*connection, [&] { connection->start(); });
}

void IoThread::forget(uint64_t id) {
  auto index = static_cast<uint32_t>(id);
  if (find(id) == nullptr) return;
  ++slots_[index].generation;
  free_slots_.push_back(index);
  slots_[index].connection = nullptr;  // its members call this: who called them holds it
  count_.give_back(slots_[index].address);
}

std::shared_ptr<Connection> IoThread::find(uint64_t id) {
  auto index = static_cast<uint32_t>(id);
  if (index >= slots_.size() || slots_[index].generation != id >> 32) return nullptr;
  return slots_[index].connection;
}

void IoThread::end_round_soon() {
  if (round_ends_soon_) return;
  boost::asio::post(context(), [this] {
    round_ends_soon_ = false;
    port_.end_round(index_);
    run_completions();
  });
  round_ends_soon_ = true;
}

void IoThread::run_completions() {
  std::list<Completion> completions = completions_->take_remote();
  while (true) {
    for (size_t delivered = 0; !completions.empty(); completions.pop_front()) {
      deliver(completions.front());
      if (++delivered % kFlushed == 0) flush();
    }
    if (completions_->local.empty()) flush();
    if (completions_->local.empty()) return;
    std::swap(completions, completions_->local);
  }
}

void IoThread::deliver(Completion& completion) {
  if (completion.work) return completion.work();
  const std::shared_ptr<Connection> connection = find(completion.connection);
  if (!connection) return;  // the client has gone
  guarded(*connection, [&] {
    if (!completion.response && !completion.finish) return connection->continue_stream();
    if (!completion.response) completion.response = completion.finish({completions_, completion.connection});
    if (completion.response) connection->complete(std::move(*completion.response));
  });
}

void IoThread::flush_soon(uint64_t connection) {
  try {
    to_flush_.push_back(connection);
  } catch (const std::bad_alloc&) {
    flush_all_ = true;
  }
}

void IoThread::flush() {
  if (std::exchange(flush_all_, false)) for_each_connection([](Connection& connection) { connection.flush(); });
  for (const uint64_t id : std::exchange(to_flush_, {}))
    if (const std::shared_ptr<Connection> connection = find(id)) guarded(*connection, [&] { connection->flush(); });
}

void IoThread::client_left_now() {
  if (drops_soon_) return;
  dropper_.expires_after(kDropPeriod);
  dropper_.async_wait([this](const boost::system::error_code& ec) {
    drops_soon_ = false;
    if (ec || closed_) return;
    port_.clients_left();
    run_completions();
  });
  drops_soon_ = true;
}

template <typename Visit>
void IoThread::for_each_connection(Visit visit) {
  for (size_t i = 0; i < slots_.size(); ++i)
    if (std::shared_ptr<Connection> connection = slots_[i].connection)
      guarded(*connection, [&] { visit(*connection); });
}

std::span<std::byte> IoThread::scratch() {
  if (scratch_.empty()) scratch_.resize(kScratch);
  return scratch_;
}

void IoThread::retire() {
  retiring_ = true;
  for_each_connection([](Connection& connection) { connection.retire(); });
  run_completions();
}

void IoThread::begin_drain() {
  drain_began_ = now();
  for_each_connection([](Connection& connection) { connection.begin_drain(); });
  run_completions();
}

void IoThread::close_all() {
  drain_began_ = now();
  closed_ = true;
  for_each_connection([](Connection& connection) { connection.close(); });
  ticker_.cancel();
  dropper_.cancel();
}

}  // namespace ridge::front::http
