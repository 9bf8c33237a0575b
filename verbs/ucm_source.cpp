#include "verbs/ucm_source.hpp"

#include "verbs/unmap_queue.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#if __has_include(<ucm/api/ucm.h>)
#include <ucm/api/ucm.h>
#define GODWIT_HAS_UCM 1
#endif

namespace godwit::verbs {
namespace {

#if defined(GODWIT_HAS_UCM)

constexpr const char* ucs_soname = "libucs.so.0";  // brings libucm, which does not work without it
constexpr int priority = 1000;                     // after handlers that change what is unmapped

extern "C" void push_unmapped(ucm_event_type_t, ucm_event_t* event, void* queue) {
  static_cast<UnmapQueue*>(queue)->push(reinterpret_cast<std::uintptr_t>(event->vm_unmapped.address),
                                        event->vm_unmapped.size);
}

/// Path of a loaded library whose file name begins with `prefix`, or empty.
std::string loaded_library(std::string_view prefix) {
  struct Search {
    std::string_view prefix;
    std::string path;
  } search{prefix, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name;
        if (!path.substr(path.rfind('/') + 1).starts_with(wanted.prefix)) return 0;
        wanted.path = path;
        return 1;
      },
      &search);
  return search.path;
}

struct Probe {
  const char* what;
  void (*run)(std::byte* memory, std::size_t page);  // on two mapped pages; unmaps or replaces the first one
};

constexpr std::array<Probe, 4> probes{{
    {"munmap", [](std::byte* memory, std::size_t page) { ::munmap(memory, page); }},
    {"mremap",
     [](std::byte* memory, std::size_t page) {
       void* moved = ::mremap(memory, page, 2 * page, MREMAP_MAYMOVE);  // it cannot grow where it is
       if (moved != MAP_FAILED) ::munmap(moved, 2 * page);
     }},
    {"madvise(MADV_DONTNEED)", [](std::byte* memory, std::size_t page) { ::madvise(memory, page, MADV_DONTNEED); }},
    {"mmap(MAP_FIXED)",
     [](std::byte* memory, std::size_t page) {
       (void)::mmap(memory, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
     }},
}};

bool was_reported(UnmapQueue& queue, std::uintptr_t address) {
  bool seen = false;
  const bool complete =
      queue.drain([&](std::uintptr_t begin, std::uintptr_t end) { seen |= begin <= address && address < end; });
  return seen || !complete;
}

/// Names the first call that is not reported, or nullptr.
const char* first_unreported(UnmapQueue& queue) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (const Probe& probe : probes) {
    void* memory = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return "mmap (which fails)";
    (void)was_reported(queue, 0);
    probe.run(static_cast<std::byte*>(memory), page);
    const bool seen = was_reported(queue, reinterpret_cast<std::uintptr_t>(memory));
    ::munmap(static_cast<std::byte*>(memory) + page, page);
    ::munmap(memory, page);
    if (!seen) return probe.what;
  }
  // From within the C library. An allocator that keeps the block has nothing to report.
  constexpr std::size_t large = std::size_t{64} << 20;
  auto* block = static_cast<std::byte*>(std::malloc(large));
  if (block == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(block) / page * page + page;
  (void)was_reported(queue, 0);
  std::free(block);
  const bool seen = was_reported(queue, address);
  unsigned char resident = 0;
  const bool mapped = ::mincore(reinterpret_cast<void*>(address), page, &resident) == 0;
  return seen || mapped ? nullptr : "free";
}

class UcmSource final : public UnmapSource {
 public:
  explicit UcmSource(bool load_it) : load_it_(load_it) {}
  std::string name() const override { return path_.empty() ? "libucm" : "libucm (" + path_ + ")"; }

  Status attach(UnmapQueue& queue) override {
    if (Status status = load(); !status) return status;
    const auto tested = std::make_unique<UnmapQueue>();
    tested->watch(0, UINTPTR_MAX);
    if (Status status = set(*tested); !status) return status;
    const ucs_status_t verdict = test_(UCM_EVENT_VM_UNMAPPED);
    const char* unreported = first_unreported(*tested);
    detach(*tested);
    if (unreported != nullptr)
      return Status(
          ErrorCode::not_supported,
          fmt::format("the self-test of {} failed: {} is not reported. Another library may have replaced that "
                      "function (a memory checker, an allocator)",
                      name(), unreported));
    if (verdict != UCS_OK)
      return Status(ErrorCode::not_supported,
                    fmt::format("ucm_test_events of {} says that not all unmapping is reported (status {})", name(),
                                static_cast<int>(verdict)));
    return set(queue);
  }

  void detach(UnmapQueue& queue) noexcept override { unset_(UCM_EVENT_VM_UNMAPPED, push_unmapped, &queue); }

 private:
  Status load() {
    path_ = loaded_library("libucm");
    if (path_.empty()) {
      if (Status status = load_installed(); !status) return status;
      path_ = loaded_library("libucm");
    }
    // Never unloaded: functions of the C library will jump into it.
    void* library = path_.empty() ? nullptr : ::dlopen(path_.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr)
      return Status(ErrorCode::not_supported, fmt::format("{} cannot be opened: {}", name(), ::dlerror()));
    set_ = reinterpret_cast<decltype(set_)>(::dlsym(library, "ucm_set_event_handler"));
    unset_ = reinterpret_cast<decltype(unset_)>(::dlsym(library, "ucm_unset_event_handler"));
    test_ = reinterpret_cast<decltype(test_)>(::dlsym(library, "ucm_test_events"));
    if (set_ != nullptr && unset_ != nullptr && test_ != nullptr) return {};
    return Status(ErrorCode::not_supported, fmt::format("{} lacks a function that we need: UCX before 1.8?", name()));
  }

  Status load_installed() const {
    if (!load_it_)
      return Status(ErrorCode::not_supported,
                    "UCX's libucm, which reports unmapping, is not in this process; GODWIT_IB_REG_CACHE=on loads it");
    for (const char* rival : {"libfabric.", "libopen-pal."}) {
      if (const std::string other = loaded_library(rival); !other.empty())
        return Status(
            ErrorCode::not_supported,
            fmt::format("{} is in this process, which may itself intercept munmap, and libucm is not; two that "
                        "do it break each other",
                        other));
    }
    if (::dlopen(ucs_soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE) != nullptr) return {};
    return Status(
        ErrorCode::not_supported,
        fmt::format("UCX's libucm, which reports unmapping, cannot be loaded with {} (package libucx0 or ucx): {}",
                    ucs_soname, ::dlerror()));
  }

  Status set(UnmapQueue& queue) {
    const ucs_status_t status = set_(UCM_EVENT_VM_UNMAPPED, priority, push_unmapped, &queue);
    if (status == UCS_OK) return {};
    return Status(
        ErrorCode::not_supported,
        fmt::format("{} cannot intercept munmap (status {}){}", name(), static_cast<int>(status),
                    status == UCS_ERR_UNSUPPORTED ? ": its events are switched off (UCX_MEM_EVENTS=n?)" : ""));
  }

  const bool load_it_;
  std::string path_;
  decltype(&ucm_set_event_handler) set_ = nullptr;
  decltype(&ucm_unset_event_handler) unset_ = nullptr;
  decltype(&ucm_test_events) test_ = nullptr;
};

#else

class UcmSource final : public UnmapSource {
 public:
  explicit UcmSource(bool) {}
  std::string name() const override { return "libucm"; }
  Status attach(UnmapQueue&) override {
    return Status(ErrorCode::not_supported,
                  "this build of Godwit was made without ucm/api/ucm.h (package libucx-dev or ucx-devel)");
  }
  void detach(UnmapQueue&) noexcept override {}
};

#endif

}  // namespace

std::unique_ptr<UnmapSource> make_ucm_source(bool load_it) { return std::make_unique<UcmSource>(load_it); }

}  // namespace godwit::verbs
