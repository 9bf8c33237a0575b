// What counts as a buffer: a contiguous range of trivially copyable elements, or one such element.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>

namespace godwit {

template <class R>
concept ContiguousData = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;

template <class T>
concept SingleValue = std::is_trivially_copyable_v<std::remove_cvref_t<T>> && !std::ranges::range<T> &&
                      !std::is_pointer_v<std::remove_cvref_t<T>>;

/// Something whose bytes can be sent.
template <class B>
concept SendBuffer = ContiguousData<const std::remove_reference_t<B>> || SingleValue<B>;

/// Something that bytes can be received into: elements must be assignable, temporaries must be views.
template <class B>
concept RecvBuffer = (ContiguousData<B> &&
                      !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<B>>>) ||
                     (SingleValue<B> && std::is_lvalue_reference_v<B> && !std::is_const_v<std::remove_reference_t<B>>);

namespace detail {

template <class B>
std::span<const std::byte> bytes_of(const B& buffer) noexcept {
  if constexpr (SingleValue<B>)
    return std::as_bytes(std::span<const B, 1>(&buffer, 1));
  else
    return std::as_bytes(std::span(std::ranges::data(buffer), std::ranges::size(buffer)));
}

template <class B>
std::span<std::byte> writable_bytes_of(B&& buffer) noexcept {
  if constexpr (SingleValue<B>)
    return std::as_writable_bytes(std::span<std::remove_reference_t<B>, 1>(&buffer, 1));
  else
    return std::as_writable_bytes(std::span(std::ranges::data(buffer), std::ranges::size(buffer)));
}

}  // namespace detail
}  // namespace godwit
