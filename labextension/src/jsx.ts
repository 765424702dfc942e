/** What the build puts in for JSX: calls of `h` are smaller than those that the compiler would make. */
export { Fragment, h } from 'preact';
