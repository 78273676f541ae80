// Compares two declarations of a C function, or two types: do they mean the same to a compiled library? Both may have
// other names for types: pointers, integers and enumerations are the same when their sizes are, structures when their
// size and alignment are.
#pragma once

#include <cstddef>
#include <type_traits>

namespace ridge::abi {

template <typename T>
concept Complete = requires { sizeof(T); };

template <typename Ours, typename Theirs>
constexpr bool same_type() {
  using A = std::remove_cv_t<Ours>;
  using B = std::remove_cv_t<Theirs>;
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using C = std::remove_cv_t<std::remove_pointer_t<A>>;
    using D = std::remove_cv_t<std::remove_pointer_t<B>>;
    if constexpr (std::is_function_v<C> || std::is_function_v<D>)
      return std::is_function_v<C> == std::is_function_v<D>;
    else if constexpr (Complete<C> && Complete<D>)
      return same_type<C, D>();  // else a handle, or memory of any kind
    else
      return true;
  } else if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return std::is_void_v<A> == std::is_void_v<B>;
  } else if constexpr (std::is_floating_point_v<A> || std::is_floating_point_v<B>) {
    return std::is_same_v<A, B>;
  } else if constexpr (std::is_class_v<A> || std::is_class_v<B>) {
    return std::is_class_v<A> == std::is_class_v<B> && sizeof(A) == sizeof(B) && alignof(A) == alignof(B);
  } else {
    return std::is_pointer_v<A> == std::is_pointer_v<B> && sizeof(A) == sizeof(B);
  }
}

template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameFunction<R(A...), S(B...)> : std::bool_constant<same_type<R, S>() && (same_type<A, B>() && ...)> {};

}  // namespace ridge::abi

// Rows of a check: a function of a table (RIDGE_…_FUNCTIONS), a value, a structure's member.
#define SAME_FUNCTION(name, ...) static_assert(abi::SameFunction<__VA_ARGS__, decltype(::name)>::value);
#define SAME_VALUE(ours, theirs) \
  static_assert(static_cast<unsigned long long>(ours) == static_cast<unsigned long long>(theirs))
#define SAME_MEMBER(ours, theirs, mine, its)                     \
  static_assert(offsetof(ours, mine) == offsetof(theirs, its) && \
                abi::same_type<decltype(ours::mine), decltype(theirs::its)>())
