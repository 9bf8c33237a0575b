// One-sided communication: registered regions, remote keys, and windows (a region on every rank).
//
// put/get/atomics return a Request. A put's request is done when the local buffer may be reused; it is
// visible at the target after flush(), or together with its notification. Between two operations of one
// origin to one target there is no order unless fence() stands between them; a notification arrives
// after the payload of its own put and after every earlier put to the same target.
#pragma once

#include <godwit/buffer.hpp>
#include <godwit/request.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace godwit {

class Communicator;

/// Names a region of a process to its peers: a plain value, to be sent like any other data.
/// Opaque; valid within the job, for as long as the Region lives.
struct RemoteKey {
  std::array<std::byte, 192> bytes{};
  friend bool operator==(const RemoteKey&, const RemoteKey&) = default;
};

/// Who executes 64-bit atomics on a region. Atomics of one domain are atomic to each other, those of two are not, so
/// the owner decides once, for all ranks, itself included.
enum class Atomics : std::uint8_t {
  /// CPUs: at once on the owner's host; for other hosts the owner's, while it is in a Godwit call. Loads and stores of
  /// whole words by the owner and std::atomic_ref are as good as on any shared memory.
  target,
  /// The owner's RDMA adapter, asked directly by every rank that reaches it, also by the owner and its host's ranks:
  /// the
  /// owner's CPU is not needed, but on its own host each costs a microsecond or more. Anyone may read whole words at
  /// any
  /// time; what a CPU stores (also a put of a rank of the host) while an atomic on that word is under way may be lost,
  /// and std::atomic_ref is not atomic to it.
  adapter,
};

struct RegionOptions {
  /// Nothing: as GODWIT_ATOMICS says. A wish for `adapter` gives `target` where no adapter here has atomics (iWARP has
  /// none) or the memory is read-only: atomics() says which it is. Atomics of 4 bytes are always executed by the
  /// owner's CPU: never use both widths on one word.
  std::optional<Atomics> atomics;
};

struct PutOptions {
  /// Adds 1 to this counter (0..65535) of the target's region when the payload is visible there.
  std::optional<std::uint16_t> notify;
};

namespace detail {
struct RegionState;
struct WindowState;
}  // namespace detail

/// Memory of this process that peers may read and write with the key. Unregistered on destruction:
/// the caller makes sure that no peer uses the key any more.
class Region {
 public:
  Region() = default;
  explicit Region(std::shared_ptr<detail::RegionState> state) : state_(std::move(state)) {}

  const RemoteKey& key() const;
  std::span<std::byte> bytes() const;
  /// Who executes 64-bit atomics.
  Atomics atomics() const;
  /// Waits until counter `id` is at least `count`, then subtracts `count`. Throws Error.
  void wait_notify(std::uint16_t id, std::uint64_t count = 1);
  /// Subtracts and returns true if counter `id` is at least `count`; progresses once.
  bool test_notify(std::uint16_t id, std::uint64_t count = 1);

 private:
  std::shared_ptr<detail::RegionState> state_;
};

/// Byte form of Window: displacements and lengths in bytes.
class ByteWindow {
 public:
  ByteWindow() = default;
  explicit ByteWindow(std::shared_ptr<detail::WindowState> state) : state_(std::move(state)) {}

  /// Bytes that rank `to` exposes.
  std::size_t size(Rank to) const;
  std::span<std::byte> local() const;
  /// Who executes 64-bit atomics on the range of `to`.
  Atomics atomics(Rank to) const;

  /// Out of bounds, misaligned atomics and wrong ranks are Error(invalid_argument) at the call.
  Request put_bytes(const void* data, std::size_t bytes, Rank to, std::size_t displacement, PutOptions options = {});
  Request get_bytes(void* data, std::size_t bytes, Rank from, std::size_t displacement);
  /// Adds `operand`; the value before goes to *result (which may be null). 4 or 8 bytes wide. An atomic whose
  /// connection fails while it is under way may have been executed or not: it is never repeated, its request fails with
  /// Error(transport) or Error(peer_failed).
  Request fetch_add_bytes(std::uint64_t operand, std::uint64_t* result, std::size_t width, Rank to,
                          std::size_t displacement);
  /// Stores `desired` if the word equals `expected`; the value before goes to *result.
  Request compare_swap_bytes(std::uint64_t expected, std::uint64_t desired, std::uint64_t* result, std::size_t width,
                             Rank to, std::size_t displacement);
  /// Waits until everything issued to `to` (to all) is visible there.
  void flush(Rank to);
  void flush_all();
  /// What is issued to a target after the fence takes effect there after what was issued before it.
  void fence();
  void wait_notify(std::uint16_t id, std::uint64_t count = 1);
  bool test_notify(std::uint16_t id, std::uint64_t count = 1);
  /// Collective: flushes, waits for everyone, and gives the window up. The destructor does not wait for
  /// others: whoever destroys a window makes sure that no peer uses it any more.
  void free();

 protected:
  std::shared_ptr<detail::WindowState> state_;
};

/// A range of T on every rank of a communicator. Indices and counts in elements.
template <class T>
class Window : public ByteWindow {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Window() = default;
  explicit Window(ByteWindow window) : ByteWindow(std::move(window)) {}

  template <SendBuffer B>
  Request put(const B& data, Rank to, std::size_t index = 0, PutOptions options = {}) {
    auto bytes = detail::bytes_of(data);
    return put_bytes(bytes.data(), bytes.size(), to, at(index), options);
  }
  template <RecvBuffer B>
  Request get(B&& data, Rank from, std::size_t index = 0) {
    auto bytes = detail::writable_bytes_of(data);
    return get_bytes(bytes.data(), bytes.size(), from, at(index));
  }
  /// Blocking; returns the value before.
  T fetch_add(T operand, Rank to,
              std::size_t index = 0) requires(std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8)) {
    std::uint64_t before = 0;
    fetch_add_bytes(static_cast<std::uint64_t>(operand), &before, sizeof(T), to, at(index)).wait();
    return static_cast<T>(before);
  }
  /// Blocking; returns the value before: equal to `expected` exactly when the swap happened.
  T compare_swap(T expected, T desired, Rank to,
                 std::size_t index = 0) requires(std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8)) {
    std::uint64_t before = 0;
    compare_swap_bytes(static_cast<std::uint64_t>(expected), static_cast<std::uint64_t>(desired), &before, sizeof(T),
                       to, at(index))
        .wait();
    return static_cast<T>(before);
  }
  std::span<T> elements() const {
    auto bytes = local();
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  // Saturates, so that an absurd index is out of bounds and does not wrap.
  static std::size_t at(std::size_t index) noexcept {
    constexpr auto most = static_cast<std::size_t>(-1);
    return index > most / sizeof(T) ? most : index * sizeof(T);
  }
};

}  // namespace godwit
