/** Anything else is a path; a file with such a name is reached as ./ast_… */
export const isAssetId = (text: string): boolean => /^ast_[0-9a-z]{35}$/.test(text);
