// An adapter that only registers memory, over pages that exist as numbers: each has a generation, which changes when it
// is unmapped and mapped again. A registration remembers the generations that it pinned, so that a stale one shows.
#pragma once

#include "core/unique_fd.hpp"
#include "fake_verbs/refusing_api.hpp"
#include "verbs/registrar.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace godwit::verbs {

inline constexpr std::size_t page = 4096;

/// Pages from first_address on. A generation of 0: not mapped. Threads: any, each page by one at a time.
class Pages {
 public:
  static constexpr std::uintptr_t first_address = std::uintptr_t{1} << 40;
  explicit Pages(std::size_t count) : generations_(count) {
    for (auto& each : generations_) each = 1;
  }
  std::size_t count() const { return generations_.size(); }
  bool mapped(std::size_t index) const { return generations_[index] % 2 == 1; }
  std::uint32_t generation(std::size_t index) const { return generations_[index]; }
  void unmap(std::size_t index) {
    if (mapped(index)) ++generations_[index];
  }
  void map(std::size_t index) {
    if (!mapped(index)) ++generations_[index];
  }
  std::span<std::byte> span(std::size_t first, std::size_t pages) const { return bytes(first * page, pages * page); }
  static std::span<std::byte> bytes(std::size_t offset, std::size_t count) {
    return {reinterpret_cast<std::byte*>(first_address + offset), count};
  }

 private:
  std::deque<std::atomic<std::uint32_t>> generations_;
};

class MemoryApi final : public RefusingApi {
 public:
  struct Pinned {
    ibv_mr region{};
    std::uintptr_t begin = 0, end = 0;
    int access = 0;
    std::map<std::size_t, std::uint32_t> generations;  // by page
  };

  explicit MemoryApi(Pages* pages = nullptr);

  ibv_pd* domain() { return &domain_; }
  std::size_t live() const { return pinned_.size(); }
  /// The live registration with that lkey, or nullptr.
  const Pinned* find(std::uint32_t lkey) const;
  /// It exists, covers `memory`, and pins the pages that are mapped there now.
  testing::AssertionResult reaches(const Registered& registered, std::span<const std::byte> memory) const;

  std::function<int(std::uintptr_t address, std::size_t bytes)> refuse;  // errno value for a registration; 0: do it
  int registrations = 0, deregistrations = 0, dmabuf_error = EOPNOTSUPP, deregistration_error = 0;
  std::size_t registered_bytes = 0;  // of all registrations ever
  ibv_fork_status fork_status = IBV_FORK_UNNEEDED;
  int fork_error = 0, fork_calls = 0;

  const char* get_device_name(ibv_device*) noexcept override { return "test_0"; }
  ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept override;
  ibv_mr* reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int fd,
                        int access) noexcept override;
  int dereg_mr(ibv_mr* region) noexcept override;
  int fork_init() noexcept override { return ++fork_calls, fork_error; }
  ibv_fork_status is_fork_initialized() noexcept override { return fork_status; }

 private:
  ibv_mr* pin(std::uintptr_t address, std::size_t bytes, int access);

  Pages* const pages_;  // nullptr: everything is mapped and never changes
  ibv_device device_{};
  ibv_context context_{};
  ibv_pd domain_{};
  std::uint32_t next_key_ = 1;
  std::map<std::uint32_t, std::unique_ptr<Pinned>> pinned_;
};

/// Notices that a test sends itself.
class TestSource final : public UnmapSource {
 public:
  struct Wire {
    UnmapQueue* queue = nullptr;  // while attached
    Status status;                // of attach()
  };
  explicit TestSource(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
  std::string name() const override { return "the test"; }
  Status attach(UnmapQueue& queue) override {
    if (wire_->status) wire_->queue = &queue;
    return wire_->status;
  }
  void detach(UnmapQueue&) noexcept override { wire_->queue = nullptr; }

 private:
  std::shared_ptr<Wire> wire_;
};

inline constexpr int full_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

/// A registrar over such an adapter. Unmapping is reported as it should be.
struct Stage {
  /// `options` without GODWIT_.
  explicit Stage(std::size_t pages_count = 256, const std::map<std::string, std::string>& options = {},
                 Status source_status = {});
  /// Everything must have been deregistered.
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Notice, then the deed.
  void unmap(std::size_t first, std::size_t count);
  void map(std::size_t first, std::size_t count);
  void remap(std::size_t first, std::size_t count) { unmap(first, count), map(first, count); }
  /// acquire() that must succeed and reach the current pages.
  const Registered& acquire(std::span<std::byte> memory, int access = full_access) const;
  const Registered& acquire(std::size_t first, std::size_t count) const { return acquire(pages.span(first, count)); }
  /// acquire() and release().
  void touch(std::size_t first, std::size_t count) const { registrar->release(&acquire(first, count)); }
  /// What went to the log so far.
  std::string logged() const;
  const RegistrationStatistics& statistics() const { return registrar->statistics(); }

  Pages pages;
  MemoryApi api{&pages};
  std::shared_ptr<TestSource::Wire> wire = std::make_shared<TestSource::Wire>();
  core::UniqueFd log_file;
  std::unique_ptr<core::Log> log;
  core::OptionSet options;
  std::unique_ptr<Registrar> registrar;
};

}  // namespace godwit::verbs
