// Regions, remote keys and windows.
#include <godwit/communicator.hpp>
#include <godwit/window.hpp>

#include <fmt/format.h>

#include "core/core_options.hpp"
#include "runtime/communicator_state.hpp"
#include "runtime/context_state.hpp"

namespace godwit {

namespace detail {

namespace {

core::AtomicsDomain wish_of(const RegionOptions& options, core::Services& services) {
  const std::string& usual = services.options.get<core::CoreOptions>().atomics->value;
  const bool adapter = options.atomics ? *options.atomics == Atomics::adapter : usual == "adapter";
  return adapter ? core::AtomicsDomain::adapter : core::AtomicsDomain::cpu;
}

Atomics atomics_of(core::AtomicsDomain domain) noexcept {
  return domain == core::AtomicsDomain::adapter ? Atomics::adapter : Atomics::target;
}

void say_domain(core::Log& log, const core::RegionEntry& entry) {
  if (entry.adapter_key == 0)
    log.info("region of {} bytes: 64-bit atomics are executed by CPUs: there is no adapter here that executes them",
             entry.memory.size());
  else
    log.info("region of {} bytes: 64-bit atomics are executed by the adapter of {}", entry.memory.size(),
             entry.registrations[entry.adapter_key - 1U].first->name());
}

}  // namespace

RegionState::RegionState(std::shared_ptr<CommunicatorState> owner, std::span<std::byte> memory,
                         const RegionOptions& options)
    : communicator(std::move(owner)) {
  core::Worker& worker = communicator->worker;
  const auto held = worker.lock();
  const core::AtomicsDomain wish = wish_of(options, worker.services());
  entry = &worker.regions().add(memory, worker.transports(), wish);
  if (wish == core::AtomicsDomain::adapter && !memory.empty()) say_domain(worker.services().log, *entry);
  key = core::encode_key(*entry, worker.rank());
}

RegionState::~RegionState() {
  const auto held = communicator->worker.lock();
  communicator->worker.regions().remove(*entry);
}

}  // namespace detail

namespace {

[[noreturn]] void throw_outside(const core::RemoteRegion& target, std::uint64_t offset, std::uint64_t bytes,
                                const char* call) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {} bytes at {} are outside the region of rank {} of the job, which has {} bytes", call,
                          bytes, offset, target.owner, target.size));
}

void check_range(const core::RemoteRegion& target, std::uint64_t offset, std::uint64_t bytes, const char* call) {
  if (offset > target.size || bytes > target.size - offset) [[unlikely]]
    throw_outside(target, offset, bytes, call);
}

// One object for what the wait needs, so that the functions which refer to it fit into std::function.
class NotifyWait {
 public:
  NotifyWait(detail::RegionState& region, std::uint16_t id, std::uint64_t count)
      : worker_(region.communicator->worker),
        group_(region.communicator->group),
        entry_(*region.entry),
        watch_(worker_, group_),
        count_(count),
        id_(id) {}

  void wait() {
    worker_.wait_until([this] { return taken(); }, [this] { return words(); });
  }

 private:
  bool taken() {
    if (entry_.take(id_, count_)) return true;
    runtime::check_usable(group_);
    watch_.look();
    return false;
  }
  std::string words() const {
    return fmt::format("notification {} of a region of {} bytes, communicator {}: {} of {} have come", id_,
                       entry_.memory.size(), group_.context / 2,
                       id_ < entry_.counters.size() ? entry_.counters[id_] : 0, count_);
  }

  core::Worker& worker_;
  const core::Group& group_;
  core::RegionEntry& entry_;
  runtime::MemberWatch watch_;
  const std::uint64_t count_;
  const std::uint16_t id_;
};

void wait_for_notify(detail::RegionState& region, std::uint16_t id, std::uint64_t count) {
  NotifyWait(region, id, count).wait();
}

bool test_for_notify(detail::RegionState& region, std::uint16_t id, std::uint64_t count) {
  core::Worker& worker = region.communicator->worker;
  const auto held = worker.lock();
  worker.progress();
  return region.entry->take(id, count);
}

void check_word(const core::RemoteRegion& target, std::size_t width, std::size_t displacement, const char* call) {
  if (width != 4 && width != 8)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: a word of {} bytes; atomics are 4 or 8 bytes wide", call, width));
  check_range(target, displacement, width, call);
  if ((target.base + displacement) % width != 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the word at byte {} of the window of rank {} is not aligned to its {} bytes", call,
                            displacement, target.owner, width));
}

void throw_unless_ok(const Status& status) {
  if (!status.ok()) throw Error(status);
}

}  // namespace

// --- regions ---------------------------------------------------------------------------------------------------

Region Communicator::region_bytes(void* data, std::size_t bytes, RegionOptions options) {
  runtime::check_buffer(data, bytes, "region");
  runtime::state_of(state_);
  return Region(
      std::make_shared<detail::RegionState>(state_, std::span(static_cast<std::byte*>(data), bytes), options));
}

namespace {

detail::RegionState& made(const std::shared_ptr<detail::RegionState>& region) {
  if (!region) throw Error(ErrorCode::invalid_argument, "this region is empty: Communicator::region() makes one");
  return *region;
}

// A key comes from anywhere: its owner must be a rank of this job.
core::RemoteRegion target_of_key(const detail::CommunicatorState& self, const RemoteKey& key) {
  core::RemoteRegion target = core::decode_key(key);
  if (target.owner < 0 || target.owner >= self.worker.job().size)
    throw Error(ErrorCode::invalid_argument, fmt::format("the key belongs to rank {} of a job, this one has {} ranks",
                                                         target.owner, self.worker.job().size));
  return target;
}

}  // namespace

const RemoteKey& Region::key() const { return made(state_).key; }
std::span<std::byte> Region::bytes() const { return made(state_).entry->memory; }
Atomics Region::atomics() const { return detail::atomics_of(made(state_).entry->domain()); }
void Region::wait_notify(std::uint16_t id, std::uint64_t count) { wait_for_notify(made(state_), id, count); }
bool Region::test_notify(std::uint16_t id, std::uint64_t count) { return test_for_notify(made(state_), id, count); }

Request Communicator::put_bytes(const void* data, std::size_t bytes, const RemoteKey& key, std::size_t offset,
                                PutOptions options) {
  core::RemoteRegion target = target_of_key(runtime::state_of(state_), key);
  runtime::check_buffer(data, bytes, "put");
  check_range(target, offset, bytes, "put");
  core::Worker& worker = state_->worker;
  core::Group& group = state_->group;
  const auto held = worker.lock();
  runtime::check_usable(group);
  return runtime::request_for(
      worker, worker.post_put(target, {static_cast<const std::byte*>(data), bytes}, offset, options.notify, &group));
}

Request Communicator::get_bytes(void* data, std::size_t bytes, const RemoteKey& key, std::size_t offset) {
  core::RemoteRegion target = target_of_key(runtime::state_of(state_), key);
  runtime::check_buffer(data, bytes, "get");
  check_range(target, offset, bytes, "get");
  core::Worker& worker = state_->worker;
  core::Group& group = state_->group;
  const auto held = worker.lock();
  runtime::check_usable(group);
  return runtime::request_for(worker, worker.post_get(target, {static_cast<std::byte*>(data), bytes}, offset, &group));
}

// --- windows ---------------------------------------------------------------------------------------------------

ByteWindow Communicator::window_bytes(void* data, std::size_t bytes, RegionOptions options) {
  runtime::state_of(state_);
  runtime::check_buffer(data, bytes, "window");
  auto window = std::make_shared<detail::WindowState>();
  window->region =
      std::make_unique<detail::RegionState>(state_, std::span(static_cast<std::byte*>(data), bytes), options);
  std::vector<RemoteKey> keys(static_cast<std::size_t>(size()));
  allgather(window->region->key, keys);
  for (const RemoteKey& key : keys) {
    window->targets.push_back(core::decode_key(key));
    state_->worker.will_reach(window->targets.back());
  }
  return ByteWindow(std::move(window));
}

namespace {

[[noreturn, gnu::noinline]] void throw_no_window() {
  throw Error(ErrorCode::invalid_argument, "this window is empty: it was never made, or it has been freed");
}

inline detail::WindowState& open(const std::shared_ptr<detail::WindowState>& window) {
  if (!window) [[unlikely]]
    throw_no_window();
  return *window;
}

inline core::RemoteRegion& target_of(detail::WindowState& window, Rank rank, const char* call) {
  const core::Group& group = window.region->communicator->group;
  runtime::check_rank(group, rank, call);
  return window.targets[static_cast<std::size_t>(rank)];
}

core::Worker& worker_of(const detail::WindowState& window) { return window.region->communicator->worker; }

}  // namespace

std::size_t ByteWindow::size(Rank to) const { return target_of(open(state_), to, "window size").size; }
std::span<std::byte> ByteWindow::local() const { return open(state_).region->entry->memory; }
Atomics ByteWindow::atomics(Rank to) const {
  return detail::atomics_of(target_of(open(state_), to, "window atomics").domain());
}

Request ByteWindow::put_bytes(const void* data, std::size_t bytes, Rank to, std::size_t displacement,
                              PutOptions options) {
  detail::WindowState& self = open(state_);
  core::RemoteRegion& target = target_of(self, to, "put");
  runtime::check_buffer(data, bytes, "put");
  check_range(target, displacement, bytes, "put");
  core::Worker& worker = worker_of(self);
  core::Group& group = self.region->communicator->group;
  const auto held = worker.lock();
  runtime::check_usable(group);
  return runtime::request_for(worker, worker.post_put(target, {static_cast<const std::byte*>(data), bytes},
                                                      displacement, options.notify, &group));
}

Request ByteWindow::get_bytes(void* data, std::size_t bytes, Rank from, std::size_t displacement) {
  detail::WindowState& self = open(state_);
  core::RemoteRegion& target = target_of(self, from, "get");
  runtime::check_buffer(data, bytes, "get");
  check_range(target, displacement, bytes, "get");
  core::Worker& worker = worker_of(self);
  core::Group& group = self.region->communicator->group;
  const auto held = worker.lock();
  runtime::check_usable(group);
  return runtime::request_for(worker,
                              worker.post_get(target, {static_cast<std::byte*>(data), bytes}, displacement, &group));
}

Request ByteWindow::fetch_add_bytes(std::uint64_t operand, std::uint64_t* result, std::size_t width, Rank to,
                                    std::size_t displacement) {
  detail::WindowState& self = open(state_);
  core::RemoteRegion& target = target_of(self, to, "fetch_add");
  check_word(target, width, displacement, "fetch_add");
  core::Worker& worker = worker_of(self);
  core::Group& group = self.region->communicator->group;
  const auto held = worker.lock();
  runtime::check_usable(group);
  return runtime::request_for(worker,
                              worker.post_atomic(core::Operation::Kind::fetch_add, target, displacement,
                                                 static_cast<std::uint32_t>(width), operand, 0, result, &group));
}

Request ByteWindow::compare_swap_bytes(std::uint64_t expected, std::uint64_t desired, std::uint64_t* result,
                                       std::size_t width, Rank to, std::size_t displacement) {
  detail::WindowState& self = open(state_);
  core::RemoteRegion& target = target_of(self, to, "compare_swap");
  check_word(target, width, displacement, "compare_swap");
  core::Worker& worker = worker_of(self);
  core::Group& group = self.region->communicator->group;
  const auto held = worker.lock();
  runtime::check_usable(group);
  return runtime::request_for(worker,
                              worker.post_atomic(core::Operation::Kind::compare_swap, target, displacement,
                                                 static_cast<std::uint32_t>(width), desired, expected, result, &group));
}

void ByteWindow::flush(Rank to) {
  detail::WindowState& self = open(state_);
  throw_unless_ok(worker_of(self).flush(target_of(self, to, "flush").owner));
}

namespace {

// For every target of the window, dead ones included; then throws the first error.
void for_all_targets(detail::WindowState& window, Status (core::Worker::*wait)(Rank)) {
  Status first;
  for (const core::RemoteRegion& target : window.targets) {
    Status status = (worker_of(window).*wait)(target.owner);
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  throw_unless_ok(first);
}

}  // namespace

void ByteWindow::flush_all() { for_all_targets(open(state_), &core::Worker::flush); }
void ByteWindow::fence() { for_all_targets(open(state_), &core::Worker::fence); }
void ByteWindow::wait_notify(std::uint16_t id, std::uint64_t count) {
  wait_for_notify(*open(state_).region, id, count);
}
bool ByteWindow::test_notify(std::uint16_t id, std::uint64_t count) {
  return test_for_notify(*open(state_).region, id, count);
}

void ByteWindow::free() {
  detail::WindowState& self = open(state_);
  flush_all();
  Communicator(self.region->communicator).barrier();
  state_.reset();
}

}  // namespace godwit
