#include "tests/support/kernels/code_kernels.h"

#include <array>

// rdi: the callback, rsi: its argument. Each kernel uses what it saves as data: nothing but the
// rules leads to its caller. The list below makes a symbol and an entry of each.
#define PROFD_KERNELS(K)                            \
  K(plain,                                          \
    "sub $8, %rsp\n"                                \
    "mov %rdi, %rax\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%rax\n"                                  \
    "add $8, %rsp\n"                                \
    "ret\n")                                        \
  K(pushes,                                         \
    "push %rbp\n"                                   \
    "push %rbx\n"                                   \
    "push %r12\n"                                   \
    "push %r13\n"                                   \
    "push %r14\n"                                   \
    "push %r15\n"                                   \
    "sub $24, %rsp\n"                               \
    "mov $1, %ebp\n"                                \
    "mov $2, %ebx\n"                                \
    "xor %r12d, %r12d\n"                            \
    "lea 5(%rbx), %r13\n"                           \
    "mov $3, %r14d\n"                               \
    "mov $4, %r15d\n"                               \
    "mov %rdi, %rax\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%rax\n"                                  \
    "add $24, %rsp\n"                               \
    "pop %r15\n"                                    \
    "pop %r14\n"                                    \
    "pop %r13\n"                                    \
    "pop %r12\n"                                    \
    "pop %rbx\n"                                    \
    "pop %rbp\n"                                    \
    "ret\n")                                        \
  K(frame_pointer,                                  \
    "endbr64\n"                                     \
    "push %rbp\n"                                   \
    "mov %rsp, %rbp\n"                              \
    "push %rbx\n"                                   \
    "sub $40, %rsp\n"                               \
    "mov %rdi, %rbx\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%rbx\n"                                  \
    "mov -8(%rbp), %rbx\n"                          \
    "leave\n"                                       \
    "ret\n")                                        \
  K(saved_by_mov,                                   \
    "sub $0x88, %rsp\n"                             \
    "mov %rbx, (%rsp)\n"                            \
    "mov %rbp, 0x8(%rsp)\n"                         \
    "mov %r12, 0x10(%rsp)\n"                        \
    "mov %rdi, %rbp\n"                              \
    "mov $7, %ebx\n"                                \
    "test %rsi, %rsi\n"                             \
    "je 1f\n"                                       \
    "mov %rsi, %rdi\n"                              \
    "mov $9, %r12d\n"                               \
    "call *%rbp\n"                                  \
    "mov (%rsp), %rbx\n"                            \
    "mov 0x8(%rsp), %rbp\n"                         \
    "mov 0x10(%rsp), %r12\n"                        \
    "add $0x88, %rsp\n"                             \
    "ret\n"                                         \
    "1: mov (%rsp), %rbx\n"                         \
    "mov 0x8(%rsp), %rbp\n"                         \
    "mov 0x10(%rsp), %r12\n"                        \
    "add $0x88, %rsp\n"                             \
    "ret\n")                                        \
  K(aligned_by_rbp,                                 \
    "push %rbp\n"                                   \
    "mov %rsp, %rbp\n"                              \
    "push %r12\n"                                   \
    "and $-64, %rsp\n"                              \
    "sub $128, %rsp\n"                              \
    "mov %rdi, %r12\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%r12\n"                                  \
    "lea -8(%rbp), %rsp\n"                          \
    "pop %r12\n"                                    \
    "pop %rbp\n"                                    \
    "ret\n")                                        \
  K(aligned_by_rbx,                                 \
    "push %rbx\n"                                   \
    "mov %rsp, %rbx\n"                              \
    "and $-32, %rsp\n"                              \
    "sub $64, %rsp\n"                               \
    "mov %rdi, %rax\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%rax\n"                                  \
    "mov %rbx, %rsp\n"                              \
    "pop %rbx\n"                                    \
    "ret\n")                                        \
  K(aligned_by_r10,                                 \
    "lea 8(%rsp), %r10\n"                           \
    "and $-32, %rsp\n"                              \
    "push -8(%r10)\n"                               \
    "push %rbp\n"                                   \
    "mov %rsp, %rbp\n"                              \
    "push %r12\n"                                   \
    "push %r10\n"                                   \
    "push %rbx\n"                                   \
    "sub $40, %rsp\n"                               \
    "mov %rdi, %rbx\n"                              \
    "mov %rsi, %rdi\n"                              \
    "mov $1, %r12d\n"                               \
    "call *%rbx\n"                                  \
    "add $40, %rsp\n"                               \
    "pop %rbx\n"                                    \
    "pop %r10\n"                                    \
    "pop %r12\n"                                    \
    "pop %rbp\n"                                    \
    "lea -8(%r10), %rsp\n"                          \
    "ret\n")                                        \
  K(aligned_by_word,                                \
    "mov %rsp, %rax\n"                              \
    "and $-64, %rsp\n"                              \
    "sub $128, %rsp\n"                              \
    "mov %rax, 64(%rsp)\n"                          \
    "mov %rdi, %rax\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%rax\n"                                  \
    "mov 64(%rsp), %rsp\n"                          \
    "ret\n")                                        \
  K(switched,                                       \
    "push %rbp\n"                                   \
    "push %rbx\n"                                   \
    "push %r12\n"                                   \
    "mov %rsp, %rbp\n"                              \
    "sub $0x2000, %rsp\n"                           \
    "lea 0x1000(%rsp), %rax\n"                      \
    "or $63, %rax\n"                                \
    "sub $63, %rax\n"                               \
    "mov %rax, 0x18(%rsp)\n"                        \
    "test $16, %sil\n"                              \
    "jnz 1f\n"                                      \
    "and $-256, %rsp\n"                             \
    "jmp 2f\n"                                      \
    "1: mov 0x18(%rsp), %rsp\n"                     \
    "2: mov %rbp, 0x78(%rsp)\n"                     \
    "mov %rdi, %rax\n"                              \
    "mov %rsi, %rdi\n"                              \
    "mov $5, %ebp\n"                                \
    "mov $6, %ebx\n"                                \
    "xor %r12d, %r12d\n"                            \
    "call *%rax\n"                                  \
    "mov 0x78(%rsp), %rsp\n"                        \
    "pop %r12\n"                                    \
    "pop %rbx\n"                                    \
    "pop %rbp\n"                                    \
    "ret\n")                                        \
  K(variable,                                       \
    "push %rbp\n"                                   \
    "mov %rsp, %rbp\n"                              \
    "push %r13\n"                                   \
    "push %r14\n"                                   \
    "mov %rsi, %rax\n"                              \
    "and $0xf0, %eax\n"                             \
    "sub %rax, %rsp\n"                              \
    "mov %rdi, %r13\n"                              \
    "mov %rsi, %rdi\n"                              \
    "mov %rsi, %r14\n"                              \
    "call *%r13\n"                                  \
    "mov -8(%rbp), %r13\n"                          \
    "mov -16(%rbp), %r14\n"                         \
    "leave\n"                                       \
    "ret\n")                                        \
  K(several_exits,                                  \
    "push %rbx\n"                                   \
    "mov %rdi, %rbx\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%rbx\n"                                  \
    "cmp $3, %rbx\n"                                \
    "jb 1f\n"                                       \
    "cmp $5, %rbx\n"                                \
    "ja 2f\n"                                       \
    "pop %rbx\n"                                    \
    "ret\n"                                         \
    "1: pop %rbx\n"                                 \
    "ret\n"                                         \
    "2: mov $8, %eax\n"                             \
    "pop %rbx\n"                                    \
    "ret\n")                                        \
  K(tail_jump,                                      \
    "push %rbx\n"                                   \
    "mov %rdi, %rbx\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%rbx\n"                                  \
    "pop %rbx\n"                                    \
    "jmp profd_kernel_leaf\n")                      \
  K(jump_table,                                     \
    "push %rbx\n"                                   \
    "push %rsi\n"                                   \
    "push %rdi\n"                                   \
    "mov %rsi, %rax\n"                              \
    "shr $4, %rax\n"                                \
    "and $3, %eax\n"                                \
    "cmp $3, %rax\n"                                \
    "ja 9f\n"                                       \
    "lea 8f(%rip), %rdx\n"                          \
    "movslq (%rdx,%rax,4), %rax\n"                  \
    "add %rdx, %rax\n"                              \
    "notrack jmp *%rax\n"                           \
    "1: pop %rax\n"                                 \
    "pop %rdi\n"                                    \
    "call *%rax\n"                                  \
    "pop %rbx\n"                                    \
    "ret\n"                                         \
    "2: pop %rbx\n"                                 \
    "pop %rdi\n"                                    \
    "sub $16, %rsp\n"                               \
    "call *%rbx\n"                                  \
    "add $16, %rsp\n"                               \
    "pop %rbx\n"                                    \
    "ret\n"                                         \
    "9: add $16, %rsp\n"                            \
    "pop %rbx\n"                                    \
    "ret\n"                                         \
    ".pushsection .rodata\n"                        \
    ".balign 4\n"                                   \
    "8: .long 1b - 8b, 2b - 8b, 1b - 8b, 2b - 8b\n" \
    ".popsection\n")                                \
  K(red_zone,                                       \
    "mov %rbx, -8(%rsp)\n"                          \
    "mov %r12, -16(%rsp)\n"                         \
    "mov $100, %ebx\n"                              \
    "1: lea (%rbx,%rbx), %r12\n"                    \
    "dec %rbx\n"                                    \
    "jnz 1b\n"                                      \
    "mov -8(%rsp), %rbx\n"                          \
    "mov -16(%rsp), %r12\n"                         \
    "sub $8, %rsp\n"                                \
    "mov %rdi, %rax\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%rax\n"                                  \
    "add $8, %rsp\n"                                \
    "ret\n")                                        \
  K(probed,                                         \
    "mov $0x3000, %eax\n"                           \
    "lea -0x3000(%rsp), %r11\n"                     \
    "1: sub $0x1000, %rsp\n"                        \
    "orq $0, (%rsp)\n"                              \
    "cmp %r11, %rsp\n"                              \
    "jne 1b\n"                                      \
    "mov %r11, %rsp\n"                              \
    "sub $8, %rsp\n"                                \
    "mov %rdi, %rax\n"                              \
    "mov %rsi, %rdi\n"                              \
    "call *%rax\n"                                  \
    "add $0x3008, %rsp\n"                           \
    "ret\n")                                        \
  K(arguments_pushed,                               \
    "push %rbx\n"                                   \
    "push %rsi\n"                                   \
    "push $42\n"                                    \
    "pushfq\n"                                      \
    "push %rsi\n"                                   \
    "mov %rdi, %rbx\n"                              \
    "mov %rsi, %rdi\n"                              \
    "sub $16, %rsp\n"                               \
    "call *%rbx\n"                                  \
    "add $16, %rsp\n"                               \
    "pop %rsi\n"                                    \
    "popfq\n"                                       \
    "add $16, %rsp\n"                               \
    "pop %rbx\n"                                    \
    "ret\n")                                        \
  K(shared_exit,                                    \
    "push %rbx\n"                                   \
    "push %rbp\n"                                   \
    "mov %rdi, %rbp\n"                              \
    "xor %ebx, %ebx\n"                              \
    "jmp profd_kernel_elsewhere\n")                 \
  K(exchanged,                                      \
    "push %rbx\n"                                   \
    "xchg %rbx, %rdi\n"                             \
    "mov %rsi, %rdi\n"                              \
    "call *%rbx\n"                                  \
    "pop %rbx\n"                                    \
    "ret\n")                                        \
  K(callee_saved_by_callee,                         \
    "push %rbx\n"                                   \
    "mov %rdi, %rbx\n"                              \
    "call profd_kernel_helper\n"                    \
    "pop %rbx\n"                                    \
    "ret\n")

// NOLINTBEGIN(bugprone-macro-parentheses): pieces of assembly
#define PROFD_CODE(NAME, CODE) \
  ".balign 16\n"               \
  ".globl profd_kernel_" #NAME \
  "\n"                         \
  ".type profd_kernel_" #NAME  \
  ", @function\n"              \
  "profd_kernel_" #NAME ":\n" CODE ".size profd_kernel_" #NAME ", . - profd_kernel_" #NAME "\n"

asm(".text\n"
    ".balign 16\n"
    "profd_kernels_begin:\n" PROFD_KERNELS(PROFD_CODE)
    ".balign 16\n"
    ".globl profd_kernel_spin\n"
    ".type profd_kernel_spin, @function\n"
    "profd_kernel_spin:\n"
    "mov %rsp, %rax\n"
    "push %rbp\n"
    "push %rbx\n"
    "and $-64, %rsp\n"
    "sub $128, %rsp\n"
    "mov %rax, 32(%rsp)\n"
    "xor %eax, %eax\n"
    "1: lea 1(%rbx), %rbx\n"
    "mov %rbx, %rbp\n"
    "test %eax, %eax\n"
    "je 1b\n"
    "mov 32(%rsp), %rax\n"
    "mov -8(%rax), %rbp\n"
    "mov -16(%rax), %rbx\n"
    "mov %rax, %rsp\n"
    "ret\n"
    ".size profd_kernel_spin, . - profd_kernel_spin\n"
    // Without symbols of functions: found by what calls them or jumps there.
    ".balign 16\n"
    "profd_kernel_leaf:\n"
    "lea 1(%rdi), %rax\n"
    "ret\n"
    ".balign 16\n"
    "profd_kernel_elsewhere:\n"
    "mov %rsi, %rdi\n"
    "sub $8, %rsp\n"
    "call *%rbp\n"
    "add $8, %rsp\n"
    "pop %rbp\n"
    "pop %rbx\n"
    "ret\n"
    ".balign 16\n"
    "profd_kernel_helper:\n"
    "sub $24, %rsp\n"
    "mov %rsi, %rdi\n"
    "call *%rbx\n"
    "add $24, %rsp\n"
    "ret\n"
    ".balign 16\n"
    "profd_kernels_end:\n"
    ".previous\n");

extern "C" {
#define PROFD_DECLARE(NAME, CODE) void profd_kernel_##NAME(void (*)(void*), void*);
PROFD_KERNELS(PROFD_DECLARE)
void profd_kernel_spin();
extern const char profd_kernels_begin;
extern const char profd_kernels_end;
}

namespace profd::test {

std::span<const CodeKernel> CodeKernels() {
#define PROFD_ENTRY(NAME, CODE) CodeKernel{#NAME, profd_kernel_##NAME},
  static constexpr std::array kKernels{PROFD_KERNELS(PROFD_ENTRY)};
  return kKernels;
}
// NOLINTEND(bugprone-macro-parentheses)

void SpinInKernel() { profd_kernel_spin(); }

std::uint64_t CodeKernelsBegin() { return reinterpret_cast<std::uint64_t>(&profd_kernels_begin); }
std::uint64_t CodeKernelsEnd() { return reinterpret_cast<std::uint64_t>(&profd_kernels_end); }

}  // namespace profd::test
