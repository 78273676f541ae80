// Errors caused by the outside world, as values.
//
// Every function whose failure a file, model, request, driver or memory shortage can cause returns Result<T> (or Status
// when there is nothing to return). The message says what was tried, on what, what was expected and found, and what to
// do; the code only decides how the caller reacts (exit code, HTTP status). Add messages, not codes.
// Bugs are assertions. Immutable value types; no thread rules.
#pragma once

#include <cassert>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace ridge {

enum class Code {
  kInvalid,          // the input is wrong: malformed, mistyped, out of range
  kNotFound,         // the named thing does not exist
  kUnsupported,      // well formed, but not something that this program or this machine can do
  kUnavailable,      // exists, but cannot serve now: not ready, queue full, shutting down
  kExhausted,        // a resource ran out: memory, descriptors, a size limit
  kTimeout,          // a deadline passed
  kUnauthenticated,  // who asks does not show that they may
  kForbidden,        // who asks is known, and may not
  kCancelled,        // the caller or an operator gave up
  kFailed,           // the engine, driver or system call failed
};

struct Error {
  Code code = Code::kFailed;
  std::string message;
  std::chrono::nanoseconds retry_after{0};  // kUnavailable: when it would succeed, as far as predicted; 0 = not known
};

inline Error invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }

// "message" prefixed by what was being done: wrap(error, "read model a.onnx") → "read model a.onnx: …".
Error wrap(Error error, const std::string& doing);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T given) : value_(std::move(given)) {}      // NOLINT: implicit by design
  Result(Error error) : error_(std::move(error)) {}  // NOLINT
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T&& value() && {
    assert(ok());
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & {
    assert(!ok());
    return error_;
  }
  const Error& error() const& {
    assert(!ok());
    return error_;
  }
  Error&& error() && {
    assert(!ok());
    return std::move(error_);
  }

 private:
  std::optional<T> value_;
  Error error_;
};

// Result of something that returns nothing.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT
  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  Error& error() & {
    assert(!ok_);
    return error_;
  }
  const Error& error() const& {
    assert(!ok_);
    return error_;
  }
  Error&& error() && {
    assert(!ok_);
    return std::move(error_);
  }

 private:
  Error error_;
  bool ok_ = true;
};

using Status = Result<void>;
inline Status ok_status() { return {}; }

}  // namespace ridge

#define RIDGE_CONCAT_(a, b) a##b
#define RIDGE_CONCAT(a, b) RIDGE_CONCAT_(a, b)

// Returns the error of `expression` (a Status or Result) from the enclosing function, if it has one.
#define RIDGE_TRY(expression)                                                                    \
  do {                                                                                           \
    if (auto ridge_status = (expression); !ridge_status) return std::move(ridge_status).error(); \
  } while (false)

// RIDGE_ASSIGN(auto x, f()): x becomes f()'s value, or the enclosing function returns its error.
#define RIDGE_ASSIGN(target, expression) RIDGE_ASSIGN_(RIDGE_CONCAT(ridge_result_, __LINE__), target, expression)
#define RIDGE_ASSIGN_(result, target, expression) \
  auto result = (expression);                     \
  if (!result) return std::move(result).error();  \
  target = std::move(result).value()
