#include "core/shared_memory.hpp"

#include "core/available_memory.hpp"
#include "core/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <godwit/error.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace godwit::core {
namespace {

constexpr const char* shm_folder = "/dev/shm";

std::size_t round_to_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max()) - page)
    throw Error(ErrorCode::no_memory, fmt::format("{} bytes of shared memory are more than a file can hold", bytes));
  return bytes == 0 ? page : (bytes + page - 1) / page * page;
}

// Both of these say "use another way": everything else is a lack of something.
bool lacks_descriptors(int error) noexcept { return error == EMFILE || error == ENFILE; }

UniqueFd open_file(SharedMemorySource source, const std::string& purpose) {
  switch (source) {
    case SharedMemorySource::memfd: return UniqueFd(::memfd_create(purpose.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
    case SharedMemorySource::unnamed_file:
      return UniqueFd(::open(shm_folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
    case SharedMemorySource::unlinked_file: {
      std::string path = fmt::format("{}/{}-XXXXXX", shm_folder, purpose);
      UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
      if (file) ::unlink(path.c_str());
      return file;
    }
  }
  return {};
}

const char* source_name(SharedMemorySource source) noexcept {
  switch (source) {
    case SharedMemorySource::memfd: return "memfd_create";
    case SharedMemorySource::unnamed_file: return "O_TMPFILE in /dev/shm";
    case SharedMemorySource::unlinked_file: return "mkstemp in /dev/shm";
  }
  return "?";
}

UniqueFd open_any(SharedMemorySource first, const std::string& purpose, SharedMemorySource& used) {
  std::string tried;
  for (int i = static_cast<int>(first); i <= static_cast<int>(SharedMemorySource::unlinked_file); ++i) {
    used = static_cast<SharedMemorySource>(i);
    UniqueFd file = open_file(used, purpose);
    if (file) return file;
    const int error = errno;
    if (lacks_descriptors(error))
      throw Error(ErrorCode::no_memory,
                  fmt::format("no file descriptor left for shared memory ({}): {}; raise the limit (ulimit -n)",
                              purpose, std::strerror(error)));
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", source_name(used), std::strerror(error));
  }
  throw Error(ErrorCode::no_memory,
              fmt::format("shared memory ({}) is refused on this host: {}; allow memfd_create in the container's "
                          "seccomp profile or mount a tmpfs on /dev/shm",
                          purpose, tried));
}

std::string out_of_memory_words(SharedMemorySource source, std::size_t bytes, const std::string& purpose, int error) {
  std::string text =
      fmt::format("cannot get {} of shared memory ({}): {}; ", format_size(bytes), purpose, std::strerror(error));
  struct statvfs space {};
  if (source == SharedMemorySource::memfd)
    return text + "the memory limit of this host or container (cgroup memory.max, docker --memory) is reached";
  if (::statvfs(shm_folder, &space) == 0)
    text += fmt::format("/dev/shm has {} free of {}; ", format_size(space.f_bavail * space.f_frsize),
                        format_size(space.f_blocks * space.f_frsize));
  return text + "enlarge it (docker --shm-size, Kubernetes emptyDir medium Memory, mount -o remount,size=...)";
}

// The kernel does not refuse what it does not have: it kills. Small amounts are not worth the look.
constexpr std::size_t worth_a_look = 1 << 20;

void check_available(std::size_t bytes, const std::string& purpose) {
  if (bytes < worth_a_look) return;
  const AvailableMemory available = available_memory();
  if (bytes > available.bytes)
    throw Error(ErrorCode::no_memory,
                fmt::format("cannot get {} of shared memory ({}): {} has {} left", format_size(bytes), purpose,
                            available.limit, format_size(available.bytes)));
}

void commit(int file, SharedMemorySource source, std::size_t bytes, const std::string& purpose) {
  // Above RLIMIT_FSIZE the kernel would not only refuse but kill us with SIGXFSZ.
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
    throw Error(ErrorCode::no_memory,
                fmt::format("cannot get {} of shared memory ({}): the file size limit is {}; raise it (ulimit -f)",
                            format_size(bytes), purpose, format_size(limit.rlim_cur)));
  check_available(bytes, purpose);
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error != 0) throw Error(ErrorCode::no_memory, out_of_memory_words(source, bytes, purpose, error));
  // Nobody can cut the file short under those who have mapped it.
  if (source == SharedMemorySource::memfd) ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

}  // namespace

SharedMemory::SharedMemory(UniqueFd file, std::size_t bytes, const std::string& purpose)
    : file_(std::move(file)), size_(bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (address == MAP_FAILED)
    throw Error(ErrorCode::no_memory,
                fmt::format("cannot map {} of shared memory ({}): {}; limits: ulimit -v, vm.max_map_count",
                            format_size(bytes), purpose, std::strerror(errno)));
  data_ = static_cast<std::byte*>(address);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

SharedMemory SharedMemory::create(std::size_t bytes, const std::string& purpose, SharedMemorySource first) {
  bytes = round_to_pages(bytes);
  SharedMemorySource used = first;
  UniqueFd file = open_any(first, purpose, used);
  commit(file.get(), used, bytes, purpose);
  return SharedMemory(std::move(file), bytes, purpose);
}

SharedMemory SharedMemory::attach(UniqueFd file, std::size_t bytes, const std::string& purpose) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || info.st_size < static_cast<off_t>(bytes))
    throw Error(ErrorCode::transport,
                fmt::format("shared memory of a peer ({}) has {} bytes instead of {}", purpose, info.st_size, bytes));
  return SharedMemory(std::move(file), bytes, purpose);
}

std::string shared_memory_unavailable_reason() {
  try {
    SharedMemory::create(1, "godwit-probe");
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace godwit::core
