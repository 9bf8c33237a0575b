#include "memory_api.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>

namespace godwit::verbs {

MemoryApi::MemoryApi(Pages* pages) : pages_(pages) {
  context_.device = &device_;
  domain_.context = &context_;
}

ibv_mr* MemoryApi::pin(std::uintptr_t address, std::size_t bytes, int access) {
  auto pinned = std::make_unique<Pinned>();
  pinned->begin = address;
  pinned->end = address + bytes;
  pinned->access = access;
  if (pages_ != nullptr) {
    const std::size_t first = (address - Pages::first_address) / page;
    const std::size_t last = (pinned->end - 1 - Pages::first_address) / page;
    for (std::size_t index = first; index <= last; ++index) {
      if (index >= pages_->count() || !pages_->mapped(index)) {
        errno = EFAULT;
        return nullptr;
      }
      pinned->generations[index] = pages_->generation(index);
    }
  }
  pinned->region.lkey = next_key_++;
  pinned->region.rkey = pinned->region.lkey + (1U << 20);
  ibv_mr* region = &pinned->region;
  pinned_[region->lkey] = std::move(pinned);
  ++registrations;
  registered_bytes += bytes;
  return region;
}

ibv_mr* MemoryApi::reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept {
  EXPECT_EQ(domain, &domain_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (const int error = refuse ? refuse(begin, bytes) : 0; error != 0) {
    errno = error;
    return nullptr;
  }
  return pin(begin, bytes, access);
}

ibv_mr* MemoryApi::reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t bytes, std::uint64_t iova, int,
                                 int access) noexcept {
  if (dmabuf_error == 0) return pin(iova, bytes, access);
  errno = dmabuf_error;
  return nullptr;
}

int MemoryApi::dereg_mr(ibv_mr* region) noexcept {
  ++deregistrations;
  if (deregistration_error != 0) return deregistration_error;
  EXPECT_EQ(pinned_.erase(region->lkey), 1U) << "deregistered twice";
  return 0;
}

const MemoryApi::Pinned* MemoryApi::find(std::uint32_t lkey) const {
  const auto found = pinned_.find(lkey);
  return found == pinned_.end() ? nullptr : found->second.get();
}

testing::AssertionResult MemoryApi::reaches(const Registered& registered, std::span<const std::byte> memory) const {
  const Pinned* pinned = find(registered.lkey.on(0));
  if (pinned == nullptr) return testing::AssertionFailure() << "lkey " << registered.lkey.on(0) << " is not registered";
  if (pinned->region.rkey != registered.rkey.on(0)) return testing::AssertionFailure() << "rkey of another region";
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  if (begin < pinned->begin || begin + memory.size() > pinned->end)
    return testing::AssertionFailure() << "the region does not hold the memory";
  if (pages_ == nullptr) return testing::AssertionSuccess();
  const std::size_t last = (begin + memory.size() - 1 - Pages::first_address) / page;
  for (std::size_t index = (begin - Pages::first_address) / page; index <= last; ++index) {
    if (pinned->generations.at(index) != pages_->generation(index))
      return testing::AssertionFailure() << "page " << index << " was unmapped since it was registered";
  }
  return testing::AssertionSuccess();
}

Stage::Stage(std::size_t pages_count, const std::map<std::string, std::string>& options_set, Status source_status)
    : pages(pages_count), log_file(::memfd_create("log", MFD_CLOEXEC)) {
  wire->status = std::move(source_status);
  log = std::make_unique<core::Log>(core::LogLevel::debug, "/proc/self/fd/" + std::to_string(log_file.get()));
  options.add<VerbsOptions>();
  (void)options.load({}, options_set);
  registrar = std::make_unique<Registrar>(Domains(api, {api.domain()}), options.get<VerbsOptions>(), *log,
                                          std::make_unique<TestSource>(wire));
}

Stage::~Stage() {
  registrar.reset();
  EXPECT_EQ(api.live(), 0U) << "not deregistered";
  EXPECT_EQ(wire->queue, nullptr) << "not detached";
}

void Stage::unmap(std::size_t first, std::size_t count) {
  const std::span<std::byte> memory = pages.span(first, count);
  if (wire->queue != nullptr) wire->queue->push(reinterpret_cast<std::uintptr_t>(memory.data()), memory.size());
  for (std::size_t index = first; index < first + count; ++index) pages.unmap(index);
}

void Stage::map(std::size_t first, std::size_t count) {
  for (std::size_t index = first; index < first + count; ++index) pages.map(index);
}

const Registered& Stage::acquire(std::span<std::byte> memory, int access) const {
  const Registered* registered = registrar->acquire(memory, access);
  if (registered == nullptr) throw Error(registrar->failure());
  EXPECT_TRUE(api.reaches(*registered, memory));
  return *registered;
}

std::string Stage::logged() const {
  std::string text(1 << 16, '\0');
  const ssize_t size = ::pread(log_file.get(), text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

}  // namespace godwit::verbs
